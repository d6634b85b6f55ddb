"""Trainers of dense features, by the metric or an objective."""
