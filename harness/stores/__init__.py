"""Stores: the files of a workspace, each kind by one module."""
