"""The claims of the paper: measured, judged and described.

``catalogue`` lists them; ``lemmas`` and ``regret`` hold one file for each; ``verify`` runs them.
"""
