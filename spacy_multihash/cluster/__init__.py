"""Work on many items, such as shards of a corpus, in this process or on the workers of Dask."""
