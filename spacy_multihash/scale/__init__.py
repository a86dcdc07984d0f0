"""Run a pipeline on many shards of a corpus: in this process, in several, or on Dask."""
