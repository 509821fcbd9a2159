"""The parts of a spec: components, rewards, and how values are validated."""
