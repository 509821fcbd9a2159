"""Regularised steps: the interface that ``kl`` (and any other regulariser) implements."""
