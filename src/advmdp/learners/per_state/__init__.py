"""An expert or bandit algorithm in every state."""
