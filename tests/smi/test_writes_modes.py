"""nvidia-smi's writes of modes, ECC, accounting and drain on each binary: its text and exit status, and what a second process reads at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.render import serving
from harness.stages.smi import run_smi
from harness.stores.workspace import Workspace

VERSIONS = {340: "340.108", 390: "390.157", 418: "418.226.00", 450: "450.248.02", 460: "460.106.00", 470: "470.256.02", 525: "525.147.05",
            535: "535.274.02", 550: "550.163.01", 555: "555.58.02"}  # fmt: skip
PROFILE = """version: "1.0"
system: {{driver_version: "{version}"}}
device_defaults:
  name: Made Up Board
  brand: tesla
  architecture: ampere
  pci: {{device_id: 0x20B010DE, subsystem_id: 0x134F10DE}}
  power: {{enforced_limit_mw: 400000, default_limit_mw: 500000, min_limit_mw: 100000, max_limit_mw: 500000}}
  persistence_mode: disabled
  compute_mode: default
  accounting: {{mode: disabled, buffer_size: 4000, terminated: [{{pid: 31, gpu_util: 6, mem_util: 3, max_memory_mib: 10, time_ms: 12}}]}}
  mig: {{mode_current: disabled, mode_pending: disabled}}
  memory: {{total_bytes: 85899345920, used_bytes: 1048576, free_bytes: 85898297344}}
  ecc:
    mode_current: enabled
    mode_pending: enabled
    errors:
      volatile: {{single_bit: {{device_memory: 3, total: 3}}, double_bit: {{device_memory: 4, total: 4}}}}
      aggregate: {{single_bit: {{device_memory: 13, total: 13}}, double_bit: {{device_memory: 14, total: 14}}}}
  failure: {{mode: {failure}}}
devices:
- {{index: 0, uuid: GPU-00000001-0000-0000-0000-000000000001, pci: {{bus_id: "0000:07:00.0"}}, processes: [{{pid: 77, type: C, used_memory_mib: 5}}]}}
- {{index: 1, uuid: GPU-00000002-0000-0000-0000-000000000002, pci: {{bus_id: "0000:0F:00.0"}}, excluded: {excluded}}}
"""
ONE, OTHER = "0000:07:00.0", "0000:0F:00.0"
WARNING = f"""
Warning: persistence mode is disabled on device {ONE}. See the Known Issues section of the nvidia-smi(1) man page for more \
information. Run with [--help | -h] switch to get more information on how to enable persistence mode.
"""
Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def ask(smi_binary: Callable[[int], Path], library_path: Path, repository: Path, tmp_path: Path) -> Callable[..., Ask]:
    """``ask(470)("-pm", "1")``: status and text of a branch's binary on a node of two GPUs; addresses with four digits of domain."""

    def of(branch: int, *, excluded: bool = False, library: Path = library_path, state: bool = True, failure: str = "healthy") -> Ask:
        profile, image = tmp_path / "node.yaml", tmp_path / "node.img"
        profile.write_text(PROFILE.format(version=VERSIONS[branch], excluded=str(excluded).lower(), failure=failure), "utf-8")
        image.write_bytes(serving.image_bytes(profile, Workspace.find(repository)))
        variables = {"NVPARITY_IMAGE": str(image), "MOCK_NVML_STATE": str(tmp_path / ("state" if state else "no folder/state"))}

        def start(*arguments: str, user: bool = False) -> tuple[int, str]:
            caller = {"MOCK_NVML_PRIVILEGE": "user"} if user else {}
            done = run_smi(smi_binary(branch), arguments, library=library, variables={**variables, **caller}, limit_s=20)
            return done.status, done.stdout.decode().replace("00000000:", "0000:")

        return start

    return of


def readings(run: Ask) -> dict[str, str]:
    """Path of the last two elements -> text, of the first GPU in a process of its own."""
    status, text = run("-q", "-x", "-i", "0")
    assert status == 0
    return dict(re.findall(r"<(\w+)>([^<\n]*)</\1>", text))


def done(*lines: str) -> tuple[int, str]:
    """What a command prints that went well."""
    return 0, "".join(f"{line}\n" for line in (*lines, "All done."))


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("N03", "N04", "L17", "L18", "R07", "R08", "Z12")
def test_modes_and_clears_are_said_as_the_binary_says_them_and_read_by_the_next(ask: Callable[..., Ask], branch: int) -> None:
    run = ask(branch)
    assert run("-e", "0", "-i", "0") == (0, f"Disabled ECC support for GPU {ONE}.\nAll done.\nReboot required.\n")
    assert run("-e", "0", "-i", "0") == done(f"ECC support is already Disabled for GPU {ONE}.")
    assert run("-p", "0", "-i", "0") == done(f"Reset volatile ECC errors to zero for GPU {ONE}.")
    found = readings(run)
    assert (found["current_ecc"], found["pending_ecc"], found["persistence_mode"]) == ("Enabled", "Disabled", "Disabled")
    assert run("-p", "1", "-i", "0") == done(f"Reset aggregate ECC errors to zero for GPU {ONE}.")
    assert run("-c", "3", "-i", "0") == done(f"Set compute mode to EXCLUSIVE_PROCESS for GPU {ONE}.")
    assert readings(run)["compute_mode"] == "Exclusive_Process"
    how = "Legacy persistence" if branch >= 555 else "persistence"
    assert run("-pm", "1", "-i", "0") == done(f"Enabled {how} mode for GPU {ONE}.")
    assert run("-pm", "1", "-i", "0") == done(f"Persistence mode is already Enabled for GPU {ONE}.")
    assert run("-am", "1", "-i", "0") == done(f"Enabled Accounting Mode for GPU {ONE}.")
    found = readings(run)
    assert (found["persistence_mode"], found["accounting_mode"], found["pid"]) == ("Enabled", "Enabled", "77")
    assert run("--query-accounted-apps=pid,time", "--format=csv,noheader", "-i", "0")[1].split("\n")[0] == "31, 12 ms"
    assert run("-caa", "-i", "0") == done(f"Cleared Accounted PIDs for GPU {ONE}.")
    assert run("--query-accounted-apps=pid", "--format=csv,noheader", "-i", "0")[1].split() == ["77"]
    assert run("-am", "0", "-i", "0") == done(f"Disabled Accounting Mode for GPU {ONE}.")
    assert run("-pm", "0", "-i", "0") == done(f"Disabled persistence mode for GPU {ONE}.")
    assert readings(run)["accounting_mode"] == "Disabled"


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("L24", "Y12", "Z12")
def test_a_reset_ends_what_was_set_and_makes_pending_ecc_current(ask: Callable[..., Ask], branch: int) -> None:
    run = ask(branch)
    for command in (("-c", "2"), ("-e", "0"), ("-pm", "1"), ("-am", "1")):
        assert run(*command, "-i", "0,1")[0] == 0
    warned = [WARNING.rstrip("\n")] if branch >= 418 else []
    assert run("-r", "-i", "0") == done(f"GPU {ONE} was successfully reset.", *warned)
    found = readings(run)
    assert (found["current_ecc"], found["pending_ecc"]) == ("Disabled", "Disabled")
    assert (found["compute_mode"], found["accounting_mode"]) == ("Default", "Disabled")
    assert found["persistence_mode"] == ("Disabled" if branch >= 418 else "Enabled")  # the older ones turn it off for the reset, and on again
    other = run("-q", "-x", "-i", "1")[1]
    assert "<compute_mode>Prohibited</compute_mode>" in other
    status, said = run("-r")
    assert (status, said.count("was successfully reset")) == ((2, 0) if branch == 340 else (0, 2))


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("Y12", "Y17", "O11")
def test_what_cannot_be_recorded_is_refused_and_said(ask: Callable[..., Ask], branch: int) -> None:
    run = ask(branch, state=False)
    status, said = run("-pm", "1", "-i", "0")
    assert (status, said.endswith("Terminating early due to previous errors.\n")) == (4, True)
    assert run("-r", "-i", "0")[0] == 4
    assert readings(run)["persistence_mode"] == "Disabled"


@pytest.mark.parametrize("branch", [branch for branch in VERSIONS if branch > 340])
@pytest.mark.spec("O03", "O04", "O05", "O06", "O07", "O08")
def test_the_binaries_drain_verb_hides_a_gpu_from_the_next_process(ask: Callable[..., Ask], branch: int) -> None:
    # the ledger's O13 says there is none; every binary from 390 on has it
    run = ask(branch)
    drained = (0, f"Successfully set GPU {OTHER} drain state to: draining.\n")
    assert run("drain", "-p", OTHER, "-m", "1") == drained
    assert run("drain", "-p", OTHER, "-q") == (0, f"The current drain state of GPU {OTHER} is: draining.\n")
    assert run("-L")[1].count("GPU-") == 1
    assert run("drain", "-p", OTHER, "-m", "0") == (0, f"Successfully set GPU {OTHER} drain state to: not draining.\n")
    assert run("-L")[1].count("GPU-") == 2
    assert run("drain", "-p", ONE, "-r") == (255, "Failed to remove the specified GPU.\n")  # a process runs on it
    assert run("drain", "-p", OTHER, "-r")[0] == 0
    assert run("-L")[1].count("GPU-") == 1
    assert run("-pm", "1", "-i", "0")[0] == 0
    assert run("drain", "-p", ONE, "-m", "1") == (255, "Failed to modify the GPU drain state.\n")


@pytest.mark.parametrize("branch", [branch for branch in VERSIONS if branch >= 418])
@pytest.mark.spec("O02", "Z17")
def test_excluded_gpus_are_listed_by_their_view_alone(ask: Callable[..., Ask], branch: int) -> None:
    run = ask(branch, excluded=True)
    word = "Blacklist" if branch < 470 else "Excluded"
    assert run("-B") == (0, f"{word} GPU 0: {OTHER} (UUID: GPU-00000002-0000-0000-0000-000000000002)\n")
    assert run("-L")[1].count("GPU-") == 1


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("Z16")
def test_auto_boost_and_limits_outside_the_boards_are_refused(ask: Callable[..., Ask], branch: int) -> None:
    run = ask(branch)
    boost = f"Enabling/disabling default auto boosted clocks is not supported for GPU: {ONE}."
    assert run("--auto-boost-default=1", "-i", "0") == done(boost, "Treating as warning and moving on.")
    status, said = run("-pl", "20", "-i", "0")
    assert (status, said.startswith("Provided power limit 20.00 W is not a valid power limit")) == (2, True)


@pytest.mark.parametrize("branch", [390, 470, 555])
@pytest.mark.spec("L17", "L18", "V10")
def test_errors_that_an_injector_counts_rise_from_zero_after_a_clear(ask: Callable[..., Ask], branch: int) -> None:
    run = ask(branch, failure="ecc_uncorrectable")

    def errors() -> list[int]:
        """The device memory's uncorrectable errors, volatile and aggregate, of a process of its own."""
        text = run("-q", "-x", "-i", "0")[1]
        name = "dram_uncorrectable" if "<dram_uncorrectable>" in text else "device_memory"
        found = [int(number) for number in re.findall(rf"<{name}>(\d+)</{name}>", text)]
        return found if name == "dram_uncorrectable" else found[1::2]

    first, second = errors(), errors()
    assert [first[0] > 4, first[1] > 14, second[0] > first[0], second[1] > first[1]] == [True] * 4
    assert run("-p", "0", "-i", "0") == done(f"Reset volatile ECC errors to zero for GPU {ONE}.")
    cleared = errors()
    assert 0 < cleared[0] <= cleared[1] - second[1]
    assert run("-p", "1", "-i", "0") == done(f"Reset aggregate ECC errors to zero for GPU {ONE}.")
    last = errors()
    assert 0 < last[1] < last[0]


DENIED = {
    "-pm 1": "Unable to set persistence mode for GPU {gpu}", "-e 0": "Unable to set ECC config for GPU {gpu}",
    "-p 0": "Unable to clear ECC errors for GPU {gpu}", "-p 1": "Unable to clear ECC errors for GPU {gpu}",
    "-c 3": "Unable to set the compute mode for GPU {gpu}", "-am 1": "Unable to set Accounting Mode for GPU {gpu}",
    "-caa": "Unable to clear Accounted PIDs for GPU {gpu}",
}  # fmt: skip
RESET_DENIED = {340: "You need to be a root to perform this operation.\nTerminating early due to previous errors.\n",
                390: f"Unable to reset GPU {ONE}: Insufficient Permissions\n"}  # fmt: skip


@pytest.mark.parametrize("branch", VERSIONS)
@pytest.mark.spec("Y12", "Z12")
def test_who_is_not_root_is_refused_and_nothing_changes(ask: Callable[..., Ask], branch: int) -> None:
    """340 says that a reset needs root; the private table's own persistence mode (555) and resets refuse as the functions of nvml.h do."""
    run = ask(branch)
    assert run("-c", "2", "-i", "0")[0] == 0
    for command, said in DENIED.items():
        denied = f"{said.format(gpu=ONE)}: Insufficient Permissions\nTerminating early due to previous errors.\n"
        assert run(*command.split(), "-i", "0", user=True) == (4, denied), command
    reset = RESET_DENIED.get(branch, "GPU reset unavailable: Insufficient Permissions\n")
    assert run("-r", "-i", "0", user=True) == (4, reset)
    found = readings(run)
    assert [found[name] for name in ("compute_mode", "persistence_mode", "pending_ecc", "accounting_mode")] == [
        "Prohibited", "Disabled", "Enabled", "Disabled",
    ]  # fmt: skip
