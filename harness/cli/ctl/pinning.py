"""Commands that pin a reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from harness.cli.ctl import shared
from harness.cli.ctl.shared import Call
from harness.stages.overriding import verbs

if TYPE_CHECKING:
    from harness.stages.overriding.arguments import Changes, Values
    from harness.stores.profiles import Device


def put(call: Call, verb: Callable[[Device], Changes]) -> None:
    """Check ``verb``, then put what it writes for the GPUs of ``--gpu`` in force."""
    from harness.stages.overriding import putting, wanting

    verb(wanting.NOTHING)
    node = call.node()
    target = call.target(node)
    written = putting.put(node, target, verb, dry_run=call.dry_run)
    shared.put(call, node, target, written)


def _single(name: str, verb: Callable[[str, Values], Changes], metavar: str, line: str) -> click.Command:
    @click.command(name, help=line, context_settings={"ignore_unknown_options": True})
    @click.argument("value", metavar=metavar)
    @shared.command
    def run(call: Call, value: str) -> None:
        put(call, lambda device: verb(value, device.values))

    made: click.Command = run
    return made


temperature = _single("temp", verbs.temperature, "CELSIUS", "Pin the temperature, 0 to 200 degrees Celsius, steady where it is dynamic.")
power = _single("power", verbs.power, "WATTS", "Pin the power draw, 0 to 100000 W, steady where it is dynamic; what is read stays within the limits.")
fan = _single("fan", verbs.fan, "PERCENT", "Pin the fan speed, 0 to 100 %; a board without fans gets one.")
utilization = _single("util", verbs.utilization, "PERCENT", "Pin the utilization of GPU and memory, 0 to 100 %.")
clocks = _single("clocks", verbs.clocks, "MHZ", "Pin the SM and graphics clocks, 0 to 100000 MHz.")
pstate = _single("pstate", verbs.pstate, "P", "Pin the performance state, 0 to 15.")


@click.command("throttle")
@click.argument("reasons", metavar="REASON...", nargs=-1)
@shared.command
def throttle(call: Call, reasons: tuple[str, ...]) -> Any:
    """Set the clocks event reasons that are active; every other one is not, none alone clears all.

    Names are the profile's keys, or thermal, sw_thermal, power, power_brake, idle, app_clocks, display_clocks, hw_slowdown, sync_boost.
    """
    put(call, lambda _: verbs.throttle(reasons))
