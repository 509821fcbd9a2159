"""The safe path of the projection: where the fast one cannot certify its answer."""
