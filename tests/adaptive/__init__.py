"""Planners, adaptive learners and mixtures."""
