"""The lines of the paper's algorithm, one file each, as validated objects over the kernels."""
