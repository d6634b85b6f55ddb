"""What everything stands on: errors, types, randomness, parameters, registries, and files written with care."""
