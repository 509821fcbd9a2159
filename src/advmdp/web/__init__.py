"""The package over HTTP: a service for programs, and a page for people (the extra ``web``)."""
