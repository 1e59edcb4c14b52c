"""Captured text: bytes of `nvidia-smi -q -x` and `-L` to documents and back, transcripts, scrub.

Knows nothing of rows, drivers or profiles; one module of it (`xmltree`) imports lxml.
"""
