"""Learners in files: what is written, and what is checked before it is read."""
