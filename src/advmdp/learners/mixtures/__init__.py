"""Mixtures of experts: learners, planners and any other policies, weighed by what they cost."""
