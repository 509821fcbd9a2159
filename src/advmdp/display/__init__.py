"""How results look in a notebook, and a line of progress: small, and known to all other rooms."""
