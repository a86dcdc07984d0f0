"""A pipeline applied to the shards of a large corpus."""
