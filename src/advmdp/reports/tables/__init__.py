"""Tables: their contents, and how they look on a terminal."""
