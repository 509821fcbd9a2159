"""Learners that move the policy itself, state by state, and solve no convex programme."""
