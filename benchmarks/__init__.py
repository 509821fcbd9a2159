"""Speed, memory and accuracy, measured side by side in one run on one core.

``python -m benchmarks`` (or ``make bench``) runs every section, prints a table for each and keeps
the figures in ``benchmarks/results.json``.  Absolute times belong to a machine; what carries over
is the ratio between two lines of one table, and the time of a streaming pass printed beside the
episode rates.

This file limits every library to one thread.  It is imported before NumPy, numba and the conic
solvers, which read these variables when they load.
"""

from __future__ import annotations

import os

ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)

for variable in ONE_THREAD:
    os.environ[variable] = "1"
