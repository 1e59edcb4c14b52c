"""What the files of a capture are called (`captures`); apart, because a profile's time line is found without reading a capture."""

from __future__ import annotations

TRANSCRIPT = "transcript.txt"
LISTING = "listing.txt"
OUTLINE = "outline.txt"
ANSWERS = "answers.txt"
TIMELINE = "timeline.txt"
