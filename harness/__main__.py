"""``python -m harness``: the same as ``nvparity``, in an unpacked folder too."""

from harness.cli import main

main()
