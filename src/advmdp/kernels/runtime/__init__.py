"""How sources become machine code: targets, vectors, random numbers, loops shared by threads."""
