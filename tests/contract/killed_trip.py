"""A trip, its process killed before each of its stores: ``python -m tests.contract.killed_trip LIBRARY FOLDER`` with a library of flavour killpoints.

After each, the device is as it was and its Xid is not told, or it is lost and it is told; the next guarded call of another process finds it lost,
and its Xid was told once.  The same for the last stores where another change of the record comes between.  Prints how many stores were tried, or what
was wrong.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path

from mocklib import binding, image, state
from tests.contract.killer import MOST, child, record
from tests.contract.test_failing import LOST, failing, node

GUARDED = ("nvmlDeviceGetTemperature", {"sensorType": 0})
GPU_IS_LOST, XID = 15, 8
LAST = 24
"""Stores at a trip's end, among them all of its events."""


def wrong(nvml: binding.Nvml, path: Path, kill_at: int, between: Callable[[], None] | None) -> str | None:
    """What one killed trip leaves wrong; empty where nothing is, None where it was not killed any more."""
    handle, before = nvml.device(0), record(path, 1)
    if child(nvml, handle, *GUARDED, kill_at) is not None:
        return None
    lost = "present" not in state.read(path).devices[0].modes  # sound
    if not lost and record(path, 1) != before:
        return "the record in force is another"
    if told(path) != ([79] if lost else []):
        return f"lost {lost}, Xids {told(path)}"
    if between and not lost:
        between()
    if child(nvml, handle, *GUARDED, 0) != GPU_IS_LOST:
        return "the next guarded call does not trip it"
    return "" if told(path) == [79] else f"Xids {told(path)}"


def told(path: Path) -> list[int]:
    """The Xids that the state tells."""
    return [event.data for event in state.events(path) if event.type == XID]


def main(arguments: list[str]) -> int:
    """Kill it at the first stores, in the middle of the copy, and at each from the copy's end on."""
    folder = Path(arguments[1])
    packed = image.pack(node(failing(LOST, xid=79)))
    image.write(folder / "trip.nvpimg", packed)
    path = folder / "trip.state"
    os.environ["NVPARITY_IMAGE"], os.environ["MOCK_NVML_STATE"] = str(folder / "trip.nvpimg"), str(path)
    nvml = binding.open_library(arguments[0])
    copied = -(-len(image.record(node(failing(LOST, xid=79)), 0)) // 8)
    places = itertools.chain((1, 2, copied // 2), range(copied - 1, copied + MOST))
    tried = 0
    for between in (None, lambda: state.set_marks(path, 0, [])):
        for kill_at in places:
            state.create(path, packed)
            nvml.init()
            found = wrong(nvml, path, kill_at, between)
            nvml.shutdown()
            if found is None:
                break
            if found:
                print(f"killed at store {kill_at}: {found}")
                return 1
            tried += 1
        places = itertools.chain(range(kill_at - LAST, kill_at))
    print(tried)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
