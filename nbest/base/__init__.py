"""What everything stands on: errors, array types, randomness, parameters, registries, files and folders written with care."""
