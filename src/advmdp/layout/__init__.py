"""The shape of a layered MDP: layers, actions, declared successors, known rows, names."""

from advmdp.layout.layout import Layout
from advmdp.layout.tables import Floats, Table

__all__ = ["Floats", "Layout", "Table"]
