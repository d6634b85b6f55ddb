"""The version of this package, which files and signatures name."""

VERSION = "0.1.0"
