"""Weights of any size, as logarithms."""
