"""Gaussian kernels as features, and how their mixtures are estimated."""
