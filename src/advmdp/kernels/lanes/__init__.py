"""Passes over arrays in the lanes of vector registers: the same bits in every process."""
