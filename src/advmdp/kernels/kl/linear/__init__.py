"""Linear systems of the Newton step: dense blocks, or conjugate gradients."""
