"""Output on a terminal: bars, tables, lines of text and JSON events."""
