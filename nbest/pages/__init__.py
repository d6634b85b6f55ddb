"""The pages of a report: of lists and models, and of what commands left in a directory."""
