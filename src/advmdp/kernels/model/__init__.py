"""The layered graph, flows forward and backward, trajectories, counts and epochs, loss tables."""
