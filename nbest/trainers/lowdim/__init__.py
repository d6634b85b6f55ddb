"""Low-dimensional reranking."""
