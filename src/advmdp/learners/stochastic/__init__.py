"""Learners for stochastic losses, the paper's other comparison."""
