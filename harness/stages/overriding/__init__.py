"""Overrides: what is put over the profile of a node while it is served, as the document of the configuration reference has it."""
