"""What a workspace knows of one capture or profile."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.stages.compare import baselines
from harness.stages.compare.check import state_texts
from harness.stages.importing import source
from harness.stores import captures, goldens, profiles
from harness.stores.captures import VIEW_ANSWERS
from harness.tables import drivers

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stages.importing.source import Source
    from harness.stores.profiles import Device
    from harness.stores.workspace import Workspace


def inspect(space: Workspace, name: str) -> dict[str, Any]:
    """Facts on ``name`` (id, short name or profile path), ready for JSON: ``profile``, and ``capture`` and ``golden`` where the workspace has them.

    ``profile`` is None for a capture changed by hand from which none could be made.  Raises InputError for a name that means nothing.
    """
    if name in space.ids() and not space.profile_path(name).is_file():
        return {"id": name, "profile": None, "capture": _capture(space, name), "golden": _golden(space, name)}
    path = space.locate_profile(name)
    found: dict[str, Any] = {"id": path.stem, "profile": _profile(path, space)}
    if captures.exists(space.captures, path.stem):
        found["capture"] = _capture(space, path.stem)
        found["golden"] = _golden(space, path.stem)
        told = captures.load_sidecar(space.captures / path.stem / captures.SIDECAR).driver
        if told is None and "(" not in found["profile"]["layout"]:  # a list does not say its driver: the profile has the default
            found["profile"]["layout"] += " (assumed)"
    return found


def _profile(path: Path, space: Workspace) -> dict[str, Any]:
    read = profiles.load(path)
    driver = drivers.load(space.root).resolve(read.driver_version)
    kept = {str(place): str(text) for place, text in (read.origin.get("unmodelled") or {}).items()}
    apart = source.apart(kept.items(), kept)
    return {
        "path": str(path),
        "driver": read.driver_version,
        "layout": f"{driver.node} (assumed)" if driver.assumed else driver.node.text,
        "gpus": [_gpu(device) for device in read.devices],
        "answers": len(read.answers) + sum(len(device.answers) for device in read.devices),
        "unmodelled": len(apart.unmodelled),
        "redacted": len(apart.redacted),
        "deferrals": apart.deferrals(),
    }


def _gpu(device: Device) -> dict[str, Any]:
    state = None if device.state is None else device.state.value
    return {"name": device.values.get("name"), "uuid": device.values.get("uuid"), "state": state, "keys": len(device.values)}


def _capture(space: Workspace, name: str) -> dict[str, Any]:
    capture = captures.load(space.captures, name)
    sidecar = capture.sidecar
    states = Counter[str]()
    if capture.queried is not None and sidecar.driver is not None:
        known = state_texts(drivers.load(space.root).resolve(sidecar.driver))
        states.update(text for _, text in source.leaves(capture.queried) if text in known)
    views = {view: _view(text, sidecar.views[view].bytes) for view, text in capture.texts.items()}
    if capture.answers is not None:
        views[VIEW_ANSWERS] = {"elements": len(capture.answers), "redacted": 0, "bytes": sidecar.views[VIEW_ANSWERS].bytes}
    return {
        "kind": sidecar.kind,
        "views": views,
        "states": dict(states.most_common()),
        "scrubbed": dict(sidecar.scrubbed),
        "source": {key: value for key, value in asdict(sidecar.source).items() if value is not None},
        "notes": list(sidecar.notes),
    }


def _view(text: Source, size: int) -> dict[str, int]:
    leaves = source.leaves(text)
    return {"elements": len(leaves), "redacted": len(source.redacted(leaves)), "bytes": size}


def _golden(space: Workspace, name: str) -> dict[str, Any]:
    golden = goldens.load(space.golden / f"{name}.yaml")
    accepted = baselines.load(baselines.path_of(space.golden, name))
    return {
        "views": {view: {"raw": hashes.raw, "scrubbed": hashes.scrubbed, "readings": hashes.readings.whole} for view, hashes in golden.views.items()},
        "accepted": f"{golden.by}: {golden.why}",
        "rejected": [f"{one.by}: {one.why} ({', '.join(one.files)})" for one in golden.rejected],
        "baselines": {} if accepted is None else dict(accepted.views),
    }
