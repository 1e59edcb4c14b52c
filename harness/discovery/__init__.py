"""MIG discovery: what of a node a scheduler can place, from nvidia-smi's texts and through NVML.

``compatible=True`` keeps the behaviour of the source document to the letter; the default mends its ten weak spots (docs/discovery.md).
"""
