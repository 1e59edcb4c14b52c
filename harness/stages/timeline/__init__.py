"""The time line of a recording: which calls are followed, how they move in the image, which clock plays them."""
