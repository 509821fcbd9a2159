"""The world: the true transition and the loss process, which learners cannot see."""
