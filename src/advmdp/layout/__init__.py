"""The shape of a layered MDP: layers, actions, declared successors, known rows, names."""

from advmdp.layout.layout import Floats, Layout, Table

__all__ = ["Floats", "Layout", "Table"]
