"""The schema of a profile: keys, their kinds, how per-device entries merge, and the check that names every error at once."""
