"""What ``advmdp verify`` writes and prints: JSON, an HTML page, a table and figures."""
