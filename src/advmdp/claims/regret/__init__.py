"""Claims about the regret, measured on stored runs."""
