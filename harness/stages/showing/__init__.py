"""Show: what a capture, a file or a profile holds, reading by reading, and where each comes from.  ``subjects`` reads, ``readings`` answers."""
