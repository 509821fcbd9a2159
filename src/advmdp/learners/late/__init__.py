"""Learners whose feedback comes late."""
