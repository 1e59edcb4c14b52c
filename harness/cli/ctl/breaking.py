"""Commands that break something."""

from __future__ import annotations

import click

from harness.cli.ctl import shared
from harness.cli.ctl.pinning import put
from harness.cli.ctl.shared import Call
from harness.stages.overriding import verbs_faults


@click.command("fail")
@click.option("--mode", metavar="MODE", required=True, help="healthy, lost, fallen_off_bus or ecc_uncorrectable.")
@click.option("--after-calls", metavar="N", help="Fail at the N-th guarded call.")
@click.option("--probability", metavar="P", help="Fail with this probability at each guarded call, 0 to 1.")
@click.option("--seed", metavar="N", help="What the draws of --probability start from; 0 is the time.")
@click.option("--xid", metavar="CODE", help="Deliver this Xid event when it fails.")
@shared.command
def fail(call: Call, mode: str, after_calls: str | None, probability: str | None, seed: str | None, xid: str | None) -> None:
    """Have a GPU fail, at its first guarded call unless --after-calls or --probability say otherwise; healthy heals it.

    What an earlier fail said of it is dropped.
    """
    put(call, lambda _: verbs_faults.fail(mode, after_calls, probability, seed, xid))


@click.command("nvlink-error", context_settings={"ignore_unknown_options": True})
@click.argument("rate", metavar="ERRORS_PER_SECOND")
@click.option("--links", metavar="A,B", help="These links alone (default: all that are active).")
@shared.command
def nvlink_error(call: Call, rate: str, links: str | None) -> None:
    """Have NVLinks count errors, 0 to 1e9 a second; 0 heals."""
    put(call, lambda _: verbs_faults.nvlink_error(rate, links))


@click.command("sram-ecc", context_settings={"ignore_unknown_options": True})
@click.argument("count", metavar="COUNT")
@click.option("--type", "kind", metavar="TYPE", default="secded", show_default=True, help="correctable, parity or secded.")
@click.option("--source", metavar="UNIT", help="The unit that the errors come from: l2, sm, microcontroller (mcu), pcie or other.")
@click.option("--threshold-exceeded", is_flag=True, help="They passed the driver's threshold.")
@shared.command
def sram_ecc(call: Call, count: str, kind: str, source: str | None, *, threshold_exceeded: bool) -> None:
    """Set the SRAM ECC error counters, volatile and aggregate: COUNT of one type, 0 of every other; 0 heals.  The ECC mode stays as it is."""
    put(call, lambda _: verbs_faults.sram_ecc(count, kind, source, threshold_exceeded=threshold_exceeded))


@click.command("fabric-health")
@click.argument("conditions", metavar="CONDITION...", nargs=-1)
@shared.command
def fabric_health(call: Call, conditions: tuple[str, ...]) -> None:
    """Set the fabric health conditions that hold; every other one does not, healthy alone clears all.

    Conditions: degraded_bandwidth (bandwidth, degraded_bw), route_recovery, route_unhealthy, access_timeout_recovery (access_timeout), and one of
    incorrect_sysguid, incorrect_chassis_sn, no_partition, insufficient_nvlinks, incompatible_gpu_fw, invalid_location, gpu_state_invalid.
    """
    put(call, lambda _: verbs_faults.fabric_health(conditions))
