"""The statistics of the judges: exact tests, and the growth of the worst gap."""
