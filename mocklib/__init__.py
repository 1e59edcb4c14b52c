"""The mock NVML library: its tables, generator, C sources, image, state, build and binding.  Knows nothing of the harness."""
