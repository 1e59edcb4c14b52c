"""What the real nvidia-smi prints of a node in trouble: a GPU that is lost, a driver of another version, no GPU at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.stages import compile as compiling
from harness.stages import libraries, retargeting, smi
from harness.stages import recipes as putting
from harness.stages.smi import SmiRun
from harness.stores import profiles, recipes
from harness.stores.workspace import Workspace
from harness.tables import drivers
from mocklib import image
from mocklib.spec import FieldValue, ImageSpec

VERSIONS = {550: "550.163.01", 555: "555.58.02"}
LOST = "Unable to determine the device handle for GPU{}: GPU is lost.  Reboot the system to recover this GPU\n\n\n"
Run = Callable[..., SmiRun]


@pytest.fixture(params=sorted(VERSIONS))
def run(
    request: pytest.FixtureRequest, smi_binary: Callable[[int], Path], repository: Path, served_library: Path, tmp_path: Path
) -> Callable[[str, str], Run]:
    """``run(board, recipe)``: a function that runs nvidia-smi with arguments, each time in a process of its own, on a state they share."""
    version, binary = VERSIONS[request.param], smi_binary(request.param)
    space, driver = Workspace(repository), drivers.load().resolve(version)

    def serve(board: str, name: str) -> Run:
        recipe = recipes.find(space, name)
        profile = retargeting.retarget(profiles.load(space.profiles / f"{board}.yaml"), space, version).profile
        first, *others = profile.devices
        given = replace(first, values={**first.values, **putting.keys_for(recipe, first, 0)})
        spec = compiling.compile_profile(replace(profile, devices=(given, *others)), driver)
        path = tmp_path / "node.nvpimg"
        image.write(path, image.pack(_on_the_node(spec, recipe)))
        variables = {"NVPARITY_IMAGE": str(path), "MOCK_NVML_STATE": str(tmp_path / "node.nvpstate"), "MOCK_NVML_DEBUG": "1"}
        return lambda *arguments: smi.run_smi(binary, arguments, library=libraries.of_driver(driver), variables=variables)

    return serve


def _on_the_node(spec: ImageSpec, recipe: recipes.Recipe) -> ImageSpec:
    """What a recipe does beside the readings of one GPU."""
    system: dict[str, Any] = {key: FieldValue(value) for key, value in recipe.node.items()}
    marks = [frozenset({"removed"})] * len(spec.devices) if recipe.keys.get("removed") else spec.marks
    return replace(spec, system={**spec.system, **system}, marks=marks)


def texts(ran: SmiRun) -> str:
    return ran.stdout.decode("utf-8", "replace")


@pytest.mark.spec("V09", "Z20")
@pytest.mark.parametrize("name", ["lost", "xid-79"])
def test_a_gpu_is_lost_while_it_is_asked_and_to_every_process_after(name: str, run: Callable[[str, str], Run]) -> None:
    """The text it is lost in ends whole and with status 0 (measured): readings from the trip on are bodies, the siblings' are as ever."""
    served = run("gb200-x4_580.173.02", name)
    ran = served("-q", "-x")
    first, *others = texts(ran).split("<gpu id=")[1:]
    assert ran.status == 0
    assert ("<gpu_temp>GPU is lost</gpu_temp>" in first, "<product_name>NVIDIA GB200</product_name>" in first) == (True, True)
    assert [("GPU is lost" in other, "<gpu_temp>" in other) for other in others] == [(False, True)] * 3
    assert texts(ran).endswith("</nvidia_smi_log>\n")
    address = first.split('"')[1][4:]
    after = served("-q", "-x")
    assert (after.status, texts(after)) == (15, LOST.format(address))
    listed = texts(served("-L")).splitlines()
    assert [line[:6] for line in listed if line] == ["Unable", "GPU 1:", "GPU 2:", "GPU 3:"]
    assert texts(served("-q", "-i", "1", "-d", "TEMPERATURE")).count("GPU Current Temp") == 1


def test_a_driver_of_another_version_is_said_so(run: Callable[[str, str], Run]) -> None:
    served = run("t4-x1_595.91.07", "driver-mismatch")
    for arguments in ([], ["-L"], ["-q", "-x"]):
        ran = served(*arguments)
        assert ran.status == 18
        assert texts(ran).startswith("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 55")


def test_a_node_without_gpus_is_said_so(run: Callable[[str, str], Run]) -> None:
    served = run("t4-x1_595.91.07", "zero-gpus")
    assert [(ran.status, texts(ran)) for ran in (served(), served("-q"))] == [(6, "No devices were found\n")] * 2
    assert texts(served("-L")) == "No devices found.\n"


@pytest.mark.spec("V10")
def test_an_ecc_storm_rises_from_one_run_to_the_next(run: Callable[[str, str], Run]) -> None:
    served = run("gb200-x4_580.173.02", "ecc-storm")

    def uncorrectable() -> int:
        block = texts(served("-q", "-x", "-i", "0"))
        return int(block.split("<dram_uncorrectable>")[1].split("<")[0])

    first, second = uncorrectable(), uncorrectable()
    assert 0 < first < second


@pytest.mark.spec("V26")
def test_nvidia_smi_subscribes_to_no_events(run: Callable[[str, str], Run]) -> None:
    """It makes a set and frees it (measured), and neither registers for anything nor waits."""
    served = run("t4-x1_595.91.07", "xid-48")
    traced = b"".join(served(*arguments).stderr for arguments in ([], ["-q", "-x"], ["-L"], ["dmon", "-c", "1"], ["-q", "-d", "ECC"]))
    assert traced.count(b"nvmlEventSetCreate -> 0\n") == traced.count(b"nvmlEventSetFree -> 0\n") > 0
    assert (b"RegisterEvents" in traced, b"EventSetWait" in traced, b"SupportedEventTypes" in traced) == (False, False, False)
