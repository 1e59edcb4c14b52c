"""The vocabulary every other layer shares: states, readings, versions, errors and exit statuses.  Imports nothing of the harness."""
