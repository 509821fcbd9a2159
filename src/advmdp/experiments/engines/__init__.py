"""Engines play runs: in processes of this machine, on a Ray cluster, on a GPU.

``interface`` says what an engine does, ``registry`` which ones there are.
"""
