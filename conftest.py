"""Set before any test imports NumPy: each test process computes on one thread.

The test processes fill the cores by themselves.  The threads of a linear algebra library then wait
for one another in busy loops: a system of 250 equations takes a hundred times the processor time
that it takes on one thread.  Commands that tests start inherit the setting.
"""

from __future__ import annotations

import os

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

for variable in ONE_THREAD:
    os.environ[variable] = "1"
