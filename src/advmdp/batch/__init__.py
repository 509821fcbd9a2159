"""Thousands of runs at once on a GPU, by the kernels of ``advmdp.play``."""

from advmdp.batch.card import card_name, why_no_gpu
from advmdp.batch.playing import BatchProgress, RefusedRuns, play_batch
from advmdp.batch.runs import BatchRun

__all__ = ["BatchProgress", "BatchRun", "RefusedRuns", "card_name", "play_batch", "why_no_gpu"]
