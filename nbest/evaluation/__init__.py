"""What scores mean: significance, comparison of methods, inspection of lists, forests and models."""
