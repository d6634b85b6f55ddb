"""Low-dimensional features: projections of inputs and outputs, and what solves for them."""
