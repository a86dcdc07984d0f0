"""Fast arithmetic on arrays, on CPU and GPU. It knows nothing of docs."""
