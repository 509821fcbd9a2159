"""Policy optimisation: every state weighs its actions by estimates of Q; no convex programme."""
