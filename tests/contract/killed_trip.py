"""A trip, its process killed before each of its stores: ``python -m tests.contract.killed_trip LIBRARY FOLDER`` with a library of flavour killpoints.

After each, the device is as it was, the next guarded call of another process trips it, and its Xid was told.  Prints how many stores were tried, or
what was wrong.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from mocklib import binding, image, state
from tests.contract.killer import MOST, child, record
from tests.contract.test_failing import LOST, failing, node

GUARDED = ("nvmlDeviceGetTemperature", {"sensorType": 0})
GPU_IS_LOST = 15


def wrong(nvml: binding.Nvml, path: Path, kill_at: int) -> str | None:
    """What one killed trip leaves wrong; empty where nothing is, None where it was not killed any more."""
    handle, before = nvml.device(0), record(path, 1)
    if child(nvml, handle, *GUARDED, kill_at) is not None:
        return None
    if record(path, 1) != before:
        return "the record in force is another"
    state.read(path)  # sound
    if child(nvml, handle, *GUARDED, 0) != GPU_IS_LOST:
        return "the next guarded call does not trip it"
    told = [event.data for event in state.events(path) if event.type == 8]
    return "" if told in ([79], [79, 79]) else f"Xids {told}"


def main(arguments: list[str]) -> int:
    """Kill it at the first stores, in the middle of the copy, and at each from the copy's end on."""
    folder = Path(arguments[1])
    packed = image.pack(node(failing(LOST, xid=79)))
    image.write(folder / "trip.nvpimg", packed)
    path = folder / "trip.state"
    os.environ["NVPARITY_IMAGE"], os.environ["MOCK_NVML_STATE"] = str(folder / "trip.nvpimg"), str(path)
    nvml = binding.open_library(arguments[0])
    copied = -(-len(image.record(node(failing(LOST, xid=79)), 0)) // 8)
    tried = 0
    for kill_at in itertools.chain((1, 2, copied // 2), range(copied - 1, copied + MOST)):
        state.create(path, packed)
        nvml.init()
        found = wrong(nvml, path, kill_at)
        nvml.shutdown()
        if found is None:
            break
        if found:
            print(f"killed at store {kill_at}: {found}")
            return 1
        tried += 1
    print(tried)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
