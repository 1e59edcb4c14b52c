"""Every write of a state from Python, killed before each of its stores: ``python -m tests.contract.killed_writer LIBRARY FOLDER states|commands``.

All stores of these writers go by mocklib/stores.py; here each counts, bytes in several pieces, and the one that is asked for ends the process.
After each, the state is as one of the writer's commits left it, byte for byte, a reader that had started before reads that, the lock is free, and a
setter can write.  Prints one line a write: its name, how many stores were tried, how many commits were seen, and what was wrong.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mocklib import binding, image, state, stores
from mocklib.spec import Clock, FieldValue
from mocklib.statefile import StateFile
from tests.contract import boards
from tests.contract.killer import child
from tests.contract.test_failing import failing

MOST = 400
LIMITS = {"power.min_limit_mw": FieldValue(1), "power.max_limit_mw": FieldValue(9), "power.requested_limit_mw": FieldValue(5)}
PLAIN = ("number", "hold", "lengthen", "replace")
READ: dict[str, dict[str, Any]] = {
    "nvmlDeviceGetName": {}, "nvmlDeviceGetFanSpeed": {}, "nvmlDeviceGetTemperature": {"sensorType": 0}, "nvmlDeviceGetPowerManagementLimit": {},
    "nvmlDeviceGetTotalEccErrors": {"errorType": 1, "counterType": 0},
}  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
PROFILE = "h100-sxm5-x8_580.105.08"
COMMANDS = (("temp", "85", "--gpu", "all"), ("recipe", "xid-94", "--gpu", "0"), ("reset",), ("apply",))
Write = Callable[[Path], Any]
View = tuple[list[bytes], list[bytes]]


def spec(fan: int = 30, **given: FieldValue) -> Any:
    """Two boards with a fan."""
    return boards.spec(devices=[boards.device(number, fan__speed_percent=FieldValue(fan), **given) | LIMITS | failing(0) for number in range(2)])


def writes() -> dict[str, Write]:
    """Every way in which Python writes a state, by name."""
    made, back, large = spec(40), spec(35), spec(41, name=FieldValue("x" * 400_000))
    return {
        "publish a device": lambda path: state.publish(path, 0, made),
        "publish a device and what a reset goes back to": lambda path: state.publish(path, 1, made, back, text=b"{}", all_text=b"{}"),
        "publish the node": lambda path: state.publish(path, None, made, text=b"{}"),
        "publish what makes the state larger": lambda path: state.publish(path, 0, large),
        "override": lambda path: state.override(path, 0, {"fan.speed_percent": FieldValue(50)}),
        "set the clock": lambda path: state.set_clock(path, Clock("frozen", boards.AT_NS + 1), 5),
        "change the clock": lambda path: state.change_clock(path, lambda _: Clock("frozen", boards.AT_NS + 2)),
        "set marks": lambda path: state.set_marks(path, 1, ["draining"]),
        "set the privilege": lambda path: state.set_privilege(path, user=False),
        "set the seed": lambda path: state.set_seed(path, 7),
        "tell an event": lambda path: state.add_event(path, state.Event(0, 0, 0, 8, 79)),
        "reset a device": lambda path: state.reset(path, image.pack(spec()), 0),
        "reset everything": lambda path: state.reset(path, image.pack(spec())),
        "make a state in place of one": lambda path: state.create(path, image.pack(spec())),
    }


def killing(at: int) -> None:
    """From now on this process ends before store ``at``; -1: it makes none."""
    if at < 0:
        for name in (*PLAIN, "data", "write"):
            setattr(stores, name, lambda *_: None)
        return
    left = at

    def point() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def plain(real: Callable[..., None], *given: Any) -> None:
        point()
        real(*given)

    def data(real: Callable[..., None], mapped: Any, start: int, given: bytes) -> None:
        for first, last in pieces(given):
            point()
            real(mapped, start + first, given[first:last])

    def write(real: Callable[..., None], file: int, given: bytes, start: int) -> None:
        for first, last in pieces(given):
            point()
            real(file, given[first:last], start + first)

    for name in PLAIN:
        setattr(stores, name, functools.partial(plain, getattr(stores, name)))
    stores.data = functools.partial(data, stores.data)
    stores.write = functools.partial(write, stores.write)


def pieces(given: bytes) -> list[tuple[int, int]]:
    """First and last byte of the parts in which bytes are stored: the first word, two halves of what is between, the last word."""
    ends = sorted({0, min(8, len(given)), len(given) // 16 * 8, max(0, len(given) - 8), len(given)})
    return list(itertools.pairwise(ends))


def view(path: Path) -> View:
    """What every reader sees: the records in force and the events."""
    state.read(path)  # sound
    opened = StateFile(path, write=False)
    try:
        records = [repr(opened.current(number)).encode() for number in range(opened.head.record_count)]
    finally:
        opened.close()
    return records, [repr(event).encode() for event in state.events(path)]


def in_child(write: Write, path: Path, at: int) -> bool:
    """Whether a child that makes a write was killed before store ``at`` of it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            killing(at)
            write(path)
            code = 0
        except Exception:  # noqa: BLE001 - whatever it is, the child says it and ends
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"the write fails before store {at}")
    return os.WIFSIGNALED(status)


def reading(nvml: binding.Nvml) -> list[tuple[int, dict[str, Any]]]:
    """What a client reads of both boards."""
    found = [nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index}) for index in range(2)]
    answers = [nvml.call(name, place.out["device"], given) for place in found if place.code == 0 for name, given in READ.items()]
    return [(answer.code, {} if answer in found else answer.out) for answer in (*found, *answers)]


class Killer:
    """The library, opened once, and a state that every write begins with."""

    def __init__(self, library: str, folder: Path) -> None:
        self.path, self.kept = folder / "killed.state", folder / "kept.state"
        os.environ["NVPARITY_IMAGE"], os.environ["MOCK_NVML_STATE"] = str(folder / "killed.nvpimg"), str(self.path)
        self.nvml = binding.open_library(library)

    def again(self) -> list[tuple[int, dict[str, Any]]]:
        """What a client reads that starts now."""
        self.nvml.shutdown()
        if self.nvml.init():
            raise RuntimeError("nvmlInit fails")
        return reading(self.nvml)

    def begin(self) -> list[tuple[int, dict[str, Any]]]:
        """The state as every write finds it, and a client of it."""
        aside = self.path.with_name("aside.state")
        shutil.copyfile(self.kept, aside)
        aside.replace(self.path)
        return self.again()

    def set(self) -> bool:
        """Whether a setter of the last board is obeyed."""
        found = self.nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": self.nvml.count() - 1})
        most = self.nvml.call("nvmlDeviceGetPowerManagementLimitConstraints", found.out["device"]).out["maxLimit"]
        if child(self.nvml, found.out["device"], "nvmlDeviceSetPowerManagementLimit", {"limit": most}, 0):
            return False
        with state.writing(self.path) as held:  # the lock is free, and what the setter wrote is sound
            return most in [held.record(number).values["power.requested_limit_mw"].value for number in range(2)]

    def wrong(self, before: list[tuple[int, dict[str, Any]]], seen: list[View]) -> str:
        """What a kill left wrong; ``seen`` is filled with what commits leave, in their order."""
        now, old = view(self.path), reading(self.nvml)
        if now not in seen[-1:]:
            seen.append(now)
        if old not in (self.again(), before):
            return f"the client reads {old}"
        return "" if self.set() else "the next setter is refused"

    def tried(self, write: Write) -> tuple[int, int, str]:
        """Stores, commits and the first thing that was wrong with one write."""
        before, seen = self.begin(), [view(self.path)]
        in_child(write, self.path, -1)
        if self.path.read_bytes() != self.kept.read_bytes():
            return 0, 0, "some stores do not go by mocklib/stores.py"
        for at in range(1, MOST):
            self.begin()
            killed = in_child(write, self.path, at)
            said = self.wrong(before, seen)
            if said or not killed:
                return at - 1, len(seen) - 1, said and f"killed at store {at}: {said}"
        return MOST, len(seen) - 1, "it is killed however many stores it is let make"


def of_states(folder: Path) -> dict[str, Write]:
    """The writes of mocklib/state.py, and the state they begin with."""
    packed, kept = image.pack(spec()), folder / "kept.state"
    image.write(folder / "killed.nvpimg", packed)
    state.create(kept, packed)
    state.set_clock(kept, Clock("frozen", boards.AT_NS), 1)
    state.publish(kept, 0, spec(33), spec(34), text=b"{}")
    state.add_event(kept, state.Event(0, 0, 1, 8, 13))
    return writes()


def of_commands(folder: Path) -> dict[str, Write]:
    """Commands of ctl on two GPUs, and the state they begin with."""
    import yaml

    from harness.cli import guard
    from harness.stages.render import serving
    from harness.stores.workspace import Workspace

    document = yaml.safe_load((ROOT / "profiles" / f"{PROFILE}.yaml").read_text("utf-8"))
    document["system"]["num_devices"], document["devices"] = 2, document["devices"][:2]
    (folder / "node.yaml").write_text(yaml.safe_dump(document), "utf-8")
    (folder / "overrides.yaml").write_text("version: 1\nall: {thermal: {temperature_gpu_c: 66}}\ndevices: {0: {fan: {speed_percent: 44}}}\n", "utf-8")
    serving.write_image(folder / "node.yaml", Workspace(ROOT), folder / "node.nvpimg")
    shutil.copyfile(folder / "node.nvpimg", folder / "killed.nvpimg")
    kept = folder / "kept.state"
    state.create(kept, (folder / "killed.nvpimg").read_bytes())
    state.set_clock(kept, Clock("frozen", boards.AT_NS), 1)

    def ctl(*words: str) -> Write:
        def write(path: Path) -> None:
            if code := guard.run(["ctl", "--config", str(folder / "node.yaml"), "--state", str(path), *words]):
                raise RuntimeError(f"{words} ends with {code}")

        return write

    in_child(ctl("temp", "77", "--gpu", "all"), kept, 0)
    return {" ".join(words): ctl(*words) for words in COMMANDS if words != ("apply",)} | {"apply": ctl("apply", str(folder / "overrides.yaml"))}


def main(arguments: list[str]) -> int:
    """Kill every write, of states or of commands."""
    library, folder, what = arguments[0], Path(arguments[1]), arguments[2]
    made = (of_commands if what == "commands" else of_states)(folder)
    killer = Killer(library, folder)
    for name, write in made.items():
        sys.stdout.write(json.dumps([name, *killer.tried(write)]) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
