"""Answers: what NVML's calls gave becomes a profile, a profile's mock gives it back, and what no key explains is kept as it is."""
