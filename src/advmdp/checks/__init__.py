"""Checks of what a caller hands over."""
