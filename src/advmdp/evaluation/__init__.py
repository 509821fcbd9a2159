"""Exact accounting: sees both the world and the learner."""
