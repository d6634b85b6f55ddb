"""Base systems: what offers the hypotheses that nbest chooses from, and the language model they share."""
