"""One pipeline over many shards of a corpus: in this process, in several, or on Dask."""
