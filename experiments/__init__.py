"""The experiments: corpora, runs, and the tables and figures of docs/. Not installed."""

import os

# Before numpy is imported: runs go on side by side, each on one thread.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
