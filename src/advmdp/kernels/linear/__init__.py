"""Block-tridiagonal systems over the layers, which the Newton steps of every regulariser have."""
