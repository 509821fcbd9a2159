"""The paper's claims, measured."""
