"""nvparity's harness: captures in, profiles and golden hashes out, renders compared row by row.

Layers, each importing only those before it: words, tables, text, stores, stages, reports, cli.
"""

__version__ = "0.1.0"
