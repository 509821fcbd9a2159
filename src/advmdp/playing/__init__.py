"""The loops of ``play`` for feedback that does not come at once."""
