"""Figures: what they show, and how they look on paper."""
