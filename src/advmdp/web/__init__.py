"""A service over HTTP: the server (extra ``web``), and a client that needs no more than Python.

Nothing is imported here: the client works where the libraries of the server are not installed.
"""
