"""What measurements are compared with: other solvers, optimality conditions, the paper's bounds."""
