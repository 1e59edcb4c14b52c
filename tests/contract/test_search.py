"""Which image the library finds, what it says, and the default it serves without one."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mocklib import image
from mocklib.binding import Nvml
from mocklib.image import FieldValue, Source
from tests.contract import boards

ROOT = Path(__file__).resolve().parents[2]


def source_of(profile: Path) -> Source:
    """The identity of a profile as an image records it."""
    status = profile.stat()
    digest = hashlib.sha256(profile.read_bytes()).digest()
    return Source(str(profile), status.st_size, status.st_mtime_ns, status.st_ino, digest)


def compiled(profile: Path, out: Path, name: str) -> None:
    """An image of ``profile`` whose device is called ``name``."""
    spec = boards.spec(devices=[boards.device(name=FieldValue(name))])
    image.write(out, image.pack(dataclasses.replace(spec, source=source_of(profile))))


def served(nvml: Nvml) -> str:
    """Init, and the name of device 0."""
    assert nvml.init() == 0
    return str(nvml.call("nvmlDeviceGetName", nvml.device(0)).out["name"])


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile document named in MOCK_NVML_CONFIG, with an empty cache folder."""
    path = tmp_path / "board.yaml"
    path.write_text("version: '1.0'\n", encoding="utf-8")
    monkeypatch.setenv("MOCK_NVML_CONFIG", str(path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return path


def test_a_profile_is_served_from_the_image_beside_it(nvml: Nvml, profile: Path) -> None:
    compiled(profile, profile.with_suffix(".nvpimg"), "beside")
    assert served(nvml) == "beside"


def test_a_profile_is_served_from_the_image_in_the_cache(nvml: Nvml, profile: Path, tmp_path: Path) -> None:
    compiled(profile, tmp_path / "cache" / "nvparity" / "board.nvpimg", "cached")
    assert served(nvml) == "cached"


def test_a_profile_that_was_touched_but_not_changed_is_still_served(nvml: Nvml, profile: Path, capfd: pytest.CaptureFixture[str]) -> None:
    compiled(profile, profile.with_suffix(".nvpimg"), "same bytes")
    os.utime(profile, ns=(1, 1))
    assert served(nvml) == "same bytes"
    assert capfd.readouterr().err == ""


@pytest.mark.spec("A01")
def test_a_profile_that_changed_gets_the_default_and_one_line_with_the_command(
    nvml: Nvml, profile: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled(profile, profile.with_suffix(".nvpimg"), "stale")
    profile.write_text("version: '1.1'\n", encoding="utf-8")
    assert served(nvml) != "stale"
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert f"Run: nvparity compile {profile}" in said
    assert "out of date" in said


def test_a_profile_without_an_image_gets_the_default_and_one_line_with_the_command(
    nvml: Nvml, profile: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert nvml.init() == 0
    assert nvml.count() == 8
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert f"Run: nvparity compile {profile}" in said


@pytest.mark.spec("A01", "A04", "A05")
@pytest.mark.parametrize(("text", "said"), [("version: [", "it has no image"), (None, "cannot be read as a profile")])
def test_a_profile_that_cannot_be_served_gets_the_default_of_the_variables(
    nvml: Nvml, profile: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    profile.unlink() if text is None else profile.write_text(text, encoding="utf-8")
    monkeypatch.setenv("MOCK_NVML_NUM_DEVICES", "3")
    monkeypatch.setenv("MOCK_NVML_DRIVER_VERSION", "535.54.03")
    assert (nvml.init(), nvml.count(), nvml.call("nvmlSystemGetDriverVersion").out["version"]) == (0, 3, "535.54.03")
    warned = capfd.readouterr().err
    assert (warned.count("\n"), said in warned) == (1, True)


@pytest.mark.spec("A01")
def test_a_profile_that_is_served_outranks_the_variables_of_the_default(nvml: Nvml, profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(profile, profile.with_suffix(".nvpimg"), "profile")
    monkeypatch.setenv("MOCK_NVML_NUM_DEVICES", "3")
    monkeypatch.setenv("MOCK_NVML_DRIVER_VERSION", "535.54.03")
    assert (served(nvml), nvml.count(), nvml.call("nvmlSystemGetDriverVersion").out["version"]) == ("profile", 1, "570.148.08")


def test_a_named_image_outranks_a_profile(nvml: Nvml, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(profile, profile.with_suffix(".nvpimg"), "profile")
    compiled(profile, tmp_path / "named.nvpimg", "named")
    monkeypatch.setenv("NVPARITY_IMAGE", str(tmp_path / "named.nvpimg"))
    assert served(nvml) == "named"


@pytest.mark.spec("A20")
def test_a_profile_that_is_edited_is_what_it_was_until_the_process_ends(nvml: Nvml, profile: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Another process finds that its image is out of date (the test above)."""
    compiled(profile, profile.with_suffix(".nvpimg"), "first")
    assert served(nvml) == "first"
    profile.write_text("version: '2.0'\n", encoding="utf-8")
    assert nvml.call("nvmlDeviceGetName", nvml.device(0)).out["name"] == "first"
    nvml.shutdown()
    assert (served(nvml), capfd.readouterr().err) == ("first", "")


def test_an_image_replaced_on_disk_is_served_at_the_next_init(nvml: Nvml, profile: Path) -> None:
    compiled(profile, profile.with_suffix(".nvpimg"), "first")
    assert served(nvml) == "first"
    compiled(profile, profile.with_suffix(".nvpimg"), "second")
    assert nvml.call("nvmlDeviceGetName", nvml.device(0)).out["name"] == "first"
    nvml.shutdown()
    assert served(nvml) == "second"


@pytest.mark.spec("A04", "A05", "A14", "A15")
def test_without_configuration_eight_gpus_of_the_reference_are_served(nvml: Nvml, capfd: pytest.CaptureFixture[str]) -> None:
    assert nvml.init() == 0
    assert nvml.count() == 8
    for index in range(8):
        handle = nvml.device(index)
        assert nvml.call("nvmlDeviceGetUUID", handle).out["uuid"] == f"GPU-4d4f434b-0000-0000-0000-{index:012d}"
        pci = nvml.call("nvmlDeviceGetPciInfo_v3", handle).out
        assert (pci["pci.busId"], pci["pci.busIdLegacy"]) == (f"00000000:{index + 1:02X}:00.0", f"0000:{index + 1:02X}:00.0")
        assert (pci["pci.domain"], pci["pci.bus"], pci["pci.device"]) == (0, index + 1, 0)
        assert nvml.call("nvmlDeviceGetMinorNumber", handle).out == {"minorNumber": index}
        assert nvml.call("nvmlDeviceGetBAR1MemoryInfo", handle).out["bar1Memory.bar1Total"] == 256 << 20
        identity = [nvml.call(f"nvmlDeviceGet{what}", handle).out for what in ("Name", "Brand", "Architecture")]
        assert identity == [{"name": "NVIDIA A100-SXM4-40GB"}, {"type": 14}, {"arch": 7}]
    assert nvml.call("nvmlSystemGetDriverVersion").out["version"] == "550.163.01"
    assert nvml.call("nvmlSystemGetNVMLVersion").out["version"] == "12.550.163.01"
    assert nvml.call("nvmlSystemGetCudaDriverVersion").out["cudaDriverVersion"] == 12040
    assert capfd.readouterr().err == ""


@pytest.mark.spec("A04", "A15")
@pytest.mark.parametrize(("asked", "count"), [("0", 0), ("1", 1), ("72", 72), ("300", 300), ("-1", 8), ("x", 8), ("", 8), ("1x", 8)])
def test_the_default_has_as_many_gpus_as_asked_for(nvml: Nvml, monkeypatch: pytest.MonkeyPatch, asked: str, count: int) -> None:
    monkeypatch.setenv("MOCK_NVML_NUM_DEVICES", asked)
    assert nvml.init() == 0
    assert nvml.count() == count
    seen = {nvml.call("nvmlDeviceGetPciInfo_v3", nvml.device(index)).out["pci.busId"] for index in range(count)}
    assert len(seen) == count


@pytest.mark.spec("A05", "A14")
def test_the_default_claims_the_driver_asked_for(nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_DRIVER_VERSION", "535.54.03")
    assert nvml.init() == 0
    assert nvml.call("nvmlSystemGetDriverVersion").out["version"] == "535.54.03"
    assert nvml.call("nvmlSystemGetNVMLVersion").out["version"] == "12.535.54.03"


@pytest.mark.spec("A05")
def test_a_state_of_another_default_is_not_taken_for_one_of_this(nvml: Nvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "state"))
    for driver in ("535.54.03", "550.54.14", "535.54.03"):
        monkeypatch.setenv("MOCK_NVML_DRIVER_VERSION", driver)
        assert nvml.init() == 0
        assert nvml.call("nvmlSystemGetDriverVersion").out["version"] == driver
        nvml.shutdown()


@pytest.mark.spec("A05")
@pytest.mark.parametrize("asked", ["latest", "9" * 100, "../x", "550 "])
def test_a_driver_version_that_is_none_is_not_claimed(nvml: Nvml, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("MOCK_NVML_DRIVER_VERSION", asked)
    assert nvml.init() == 0
    assert nvml.call("nvmlSystemGetDriverVersion").out["version"] == "550.163.01"


def test_the_mapping_of_an_image_is_read_only(nvml: Nvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mapped.nvpimg"
    image.write(path, image.pack(boards.spec()))
    monkeypatch.setenv("NVPARITY_IMAGE", str(path))
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "state"))
    assert nvml.init() == 0
    maps = [line.split() for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()]
    assert {line[5]: line[1] for line in maps if len(line) > 5 and line[5].startswith(str(tmp_path))} == {
        str(path): "r--p",
        str(tmp_path / "state"): "r--s",
    }


PROGRAM = """
import os, sys
from mocklib import binding
nvml = binding.open_library(sys.argv[1])
for path in sys.argv[2:]:
    os.unlink(path)
nvml.init()
print(nvml.call('nvmlDeviceGetName', nvml.device(0)).out['name'])
"""


def named(library: Path, environment: dict[str, str], folder: Path, *removed: Path) -> str:
    """The name that a process which starts in ``folder`` reads of its first GPU, where the files ``removed`` go away once the library is loaded."""
    command = [sys.executable, "-c", PROGRAM, str(library), *map(str, removed)]
    done = subprocess.run(command, cwd=folder, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


def configured(config: Path, name: str) -> Path:
    """A profile and its image at a place where one is looked for."""
    config.parent.mkdir(parents=True)
    config.write_text("version: '1.0'\n", encoding="utf-8")
    compiled(config, config.with_suffix(".nvpimg"), name)
    return config


@pytest.mark.spec("A02")
def test_the_config_of_the_driver_root_the_library_lies_in_is_found(library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> None:
    """Also where an update has taken the library's file away."""
    place = tmp_path / "driver" / "usr" / "lib64" / "libnvidia-ml.so.1"
    place.parent.mkdir(parents=True)
    shutil.copy(library_path, place)
    configured(tmp_path / "driver" / "config" / "config.yaml", "of the driver root")
    assert named(place, clean_environment, tmp_path) == named(place, clean_environment, tmp_path, place) == "of the driver root"


@pytest.mark.spec("A02")
def test_the_places_of_the_two_mounts_come_after_it_in_their_order(library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> None:
    """In a copy of the library whose two absolute paths are made relative to where the process starts."""
    code = library_path.read_bytes()
    for absolute, relative in ((b"/etc/nvml-mock/config.yaml", b"./tc/nvml-mock/config.yaml"),
                               (b"/opt/nvml-mock/driver/config/config.yaml", b"./pt/nvml-mock/driver/config/config.yaml")):  # fmt: skip
        assert code.count(absolute + b"\0") == 1
        code = code.replace(absolute, relative)
    place = tmp_path / "root" / "usr" / "lib" / "libnvidia-ml.so.1"
    place.parent.mkdir(parents=True)
    place.write_bytes(code)
    assert named(place, clean_environment, tmp_path) == "NVIDIA A100-SXM4-40GB", "none of them is there"
    for config in ("pt/nvml-mock/driver/config/config.yaml", "tc/nvml-mock/config.yaml", "root/config/config.yaml"):
        configured(tmp_path / config, config)
        assert named(place, clean_environment, tmp_path) == config
