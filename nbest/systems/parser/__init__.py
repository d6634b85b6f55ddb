"""The dependency parser: experts over projective trees."""
