"""``python -m harness.cli``: the same as ``nvparity``."""

from harness.cli import main

main()
