"""Learners without a rate, a range or a horizon to set."""
