"""Reports as self-contained web pages."""
