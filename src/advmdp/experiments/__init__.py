"""Experiments as data: specs, sweeps, and the engines that run them."""
