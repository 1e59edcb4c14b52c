"""Answers: the recording of a library, made in a child of its own, and the profile whose mock gives it again."""
