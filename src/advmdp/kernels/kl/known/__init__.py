"""A projection onto a known transition: products with matrices instead of row problems."""
