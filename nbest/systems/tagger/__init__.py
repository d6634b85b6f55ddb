"""The tagger: a second-order hidden Markov model."""
