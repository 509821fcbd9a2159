"""Learners: recipes made of steps.  They never import ``advmdp.world``."""
