"""Render: text made from the mock library, through NVML's ABI alone.  Knows the tables; never sees a capture, profile or golden."""
