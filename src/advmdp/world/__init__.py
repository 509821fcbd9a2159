"""What a learner may not see: the true transition and the loss process."""
