"""Reports: statistics, figures, tables and web pages about finished runs."""
