"""How numbers are computed: kernels, how they are compiled and kept, threads, reductions over segments, derivatives."""
