"""Slow, obviously right oracles; nothing here imports the package under test."""
