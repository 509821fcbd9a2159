"""Loops over arrays handed in: one source for the CPU and for CUDA (see ``targets``)."""
