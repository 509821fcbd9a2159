"""Whole episodes, exact regret, the four terms, observers."""
