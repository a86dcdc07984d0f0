"""The tables of docs/, and the statistics in them."""
