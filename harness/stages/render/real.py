"""Renderer smi: a profile as a real nvidia-smi prints it, which loads the mock library as it would its own.

The profile is re-targeted to the binary's own version, for a driver's nvidia-smi is made for that driver's library and no other.
"""

from __future__ import annotations

import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages import binaries, compile_absent, libraries, smi
from harness.stages.render import serving
from harness.stages.render.process import Rendered

if TYPE_CHECKING:
    from harness.stages.binaries import Binary
    from harness.stages.retargeting import Retargeted
    from harness.stages.smi import SmiRun
    from harness.stages.timeline.clocks import Wanted
    from harness.stores.workspace import Workspace

LIMIT_S = 60.0
"""Seconds that one view of one node may take; the longest of sixteen GPUs takes less than one."""


@dataclass(frozen=True)
class Printed:
    """What a binary gave: its ``run`` (streams and status), the ``binary``, what was ``served`` to it, and which ``view`` it was asked for."""

    run: SmiRun
    binary: Binary
    served: Retargeted
    view: str = "q-x"

    @property
    def rendered(self) -> Rendered:
        """As any renderer's; a binary tells no calls."""
        driver = self.served.driver
        return Rendered(self.run.stdout, driver.version.text, driver.node.text, driver.assumed, [], str(self.binary.path))

    @property
    def wrong(self) -> dict[str, str]:
        """What no run of nvidia-smi that ends well has: an exit status that the profile does not account for, a signal, words on standard error."""
        found = {}
        if self.run.status not in statuses(self.served):
            found["exit status"] = said(self.run.status)
        if self.run.stderr:
            found["standard error"] = self.run.stderr.decode("utf-8", "backslashreplace").strip()[:200]
        return found


def render(profile: Path, space: Workspace, view: str, binary: Binary, wanted: Wanted | None = None, limit_s: float = LIMIT_S) -> Printed:
    """What ``binary`` prints of ``profile``, in an environment made for it and with a state of its own.

    ``view``: q-x, L, q, or q:SECTION,SECTION; ``wanted``: the clock that the mock is served by.  Raises GateError when it does not end within
    ``limit_s`` seconds, MissingError where it cannot be started.
    """
    served = serving.retargeted(profile, space, binary.version)
    image = serving.image_served(profile, space, served)
    clock = None if wanted is None else serving.clock_of(image, wanted, profile)
    with tempfile.TemporaryDirectory(prefix="nvparity-") as made:
        state = Path(made) / "state"
        serving.make_state(image, state, clock)
        library = libraries.of_profile(served.profile, served.driver)
        variables = {"NVPARITY_IMAGE": str(image), "MOCK_NVML_STATE": str(state)}
        run = smi.run_smi(binary.path, binaries.arguments_of(view), library=library, variables=variables, limit_s=limit_s)
    return Printed(run, binary, served, view)


def statuses(served: Retargeted) -> frozenset[int]:
    """The exit statuses that the profile accounts for: 0, and where GPUs are not there what their calls answer, which nvidia-smi exits with."""
    absent = [compile_absent.absence(device) for device in served.profile.devices if device.state is not None]
    return frozenset({0, *(code for one in absent for code in (one.handle, one.reading))})


def said(status: int) -> str:
    """A status as reports have it: its number, or the signal's name."""
    return str(status) if status >= 0 else f"ended by {signal.Signals(-status).name}"
