"""The since-table is made of what libraries, headers, bindings and reports say, and of nothing else."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from mocklib import fields
from mocklib.gen import since
from mocklib.gen.since import Evidence

RETURNS = "nvmlReturn_t DECLDIR"


def said(version: str, kind: str, *names: str, lacks: tuple[str, ...] = ()) -> Evidence:
    return Evidence(since.parsed(version), frozenset(names), kind, frozenset(lacks))


def changes(name: str, *inputs: Evidence) -> list[str]:
    return [".".join(map(str, version)) for version in since.table(inputs)[name]]


def test_a_name_counts_from_the_branch_that_first_has_it() -> None:
    inputs = said("340.108", "library", "a"), said("346", "binding", "a", "b"), said("390.157", "library", "a", "b", "c")
    assert [changes(name, *inputs) for name in "abc"] == [["340"], ["346"], ["390"]]


def test_within_a_branch_it_counts_from_the_release_that_has_it_where_an_earlier_one_lacks_it() -> None:
    early, late = said("535.54", "header", "a"), said("535.104", "header", "a", "b")
    inputs = early, late, said("535.161", "binding", "c"), said("550.54", "header", "a", "b", "c")
    assert changes("b", *inputs) == ["535.104"]
    assert changes("c", *inputs) == ["535.161"]


def test_a_name_that_goes_and_comes_again_is_told_with_each_change() -> None:
    inputs = said("525.60", "header", "a", "b"), said("530.30", "header", "a"), said("535.54", "header", "a", "b")
    assert changes("b", *inputs) == ["525", "530", "535"]
    reported = *inputs, said("535.98", "report", lacks=("a",)), said("535.104", "header", "a", "b")
    assert changes("a", *reported) == ["525", "535.98", "535.104"]


def test_a_header_says_nothing_of_a_name_that_none_declares() -> None:
    between, last = said("515.65", "header", "a"), said("535.274", "library", "a")
    inputs = said("460.106", "library", "a", "own"), between, said("525.147", "library", "a", "own"), last
    assert changes("own", *inputs) == ["460", "535"]


def test_a_library_is_believed_over_the_header_of_its_branch() -> None:
    inputs = said("525.60", "header", "a", "b"), said("525.147.05", "library", "a"), said("535.54", "header", "a", "b")
    assert changes("b", *inputs) == ["535"]


def test_a_binding_that_does_not_look_a_name_up_says_nothing_of_it() -> None:
    assert changes("a", said("450.248", "library", "a"), said("460.79", "binding", "b"), said("470.256", "library", "a")) == ["450"]


def test_the_document_is_read_back_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spans = {"nvmlA": ((340,),), "nvmlB": ((510,), (535, 98), (535, 104))}
    (tmp_path / "since.yaml").write_text(since.document(spans), encoding="ascii")
    monkeypatch.setattr(fields, "TABLES", tmp_path)
    assert fields.since.__wrapped__() == spans


@pytest.mark.parametrize(
    ("driver", "there"),
    [
        ("510.47", True), ("535", True), ("535.86.05", True), ("535.98", False), ("535.98.01", False), ("535.104", True), ("595.1", True),
        ("470.1", False), ("304.1", False),
    ],
)  # fmt: skip
def test_a_branch_comes_before_its_releases(driver: str, there: bool) -> None:
    name = "nvmlDeviceGetComputeRunningProcesses_v3"
    assert (name in fields.exported(since.parsed(driver))) == there


def test_a_driver_older_than_the_tables_oldest_is_taken_for_that() -> None:
    assert fields.exported((304, 137)) == fields.exported((340, 108)) != frozenset()


def archives(folder: Path) -> None:
    """A wheel with nvml.h and a source archive with pynvml.py."""
    with zipfile.ZipFile(folder / "nvidia_nvml_dev_cu12-12.0.76-py3-none-any.whl", "w") as wheel:
        text = f"{RETURNS} nvmlOne(void);\nDEPRECATED(12.0) {RETURNS} nvmlTwo(int a);\nnvmlReturn_t nvmlThree (void);\n"
        wheel.writestr("nvidia/include/nvml.h", text)
    binding = b'fn = _nvmlGetFunctionPointer("nvmlOne")\n'
    with tarfile.open(folder / "nvidia-ml-py-6.340.0.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("nvidia-ml-py-6.340.0/pynvml.py")
        entry.size = len(binding)
        archive.addfile(entry, io.BytesIO(binding))


def test_archives_are_read_as_pip_leaves_them(tmp_path: Path) -> None:
    archives(tmp_path)
    assert since.declared(since.member(tmp_path, "nvidia-nvml-dev-cu12==12.0.76", "nvml.h")) == {"nvmlOne", "nvmlTwo", "nvmlThree"}
    assert since.LOOKED_UP.findall(since.member(tmp_path, "nvidia-ml-py==6.340.0", "pynvml.py")) == ["nvmlOne"]


def test_an_input_that_is_not_there_is_named_with_the_command_that_brings_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(since.InputMissingError, match=r"pip download --no-deps -d \S+ 'nvidia-nvml-dev==13\.5\.3'"):
        since.member(tmp_path, "nvidia-nvml-dev==13.5.3", "nvml.h")
    assert since.main([str(tmp_path), str(tmp_path)]) == 2
    assert "libnvidia-ml.so.1: no library of 340.108; nox -s smi fetches it" in capsys.readouterr().err
    assert since.main([]) == since.main([str(tmp_path / "none"), str(tmp_path)]) == 2
    assert since.main(["--wanted"]) == 0
    assert "nvidia-ml-py==6.340.0\n" in capsys.readouterr().out
