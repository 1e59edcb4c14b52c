"""Stages: import, derive, compile, render, compare, run.  Each takes what the one before made; none prints."""
