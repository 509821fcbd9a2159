"""Claims about lemmas and algorithms, measured on runs of their own beside the store."""
