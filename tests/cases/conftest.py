"""Imports into empty workspaces: the same text is imported once, then rendered and asked through the C ABI as often as tests want."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import binding
from mocklib.binding import Nvml
from tests.cases.boards import ROOT
from tests.cases.taken import Taken, import_into, printed_on

Take = Callable[..., Taken]
Ask = Callable[..., tuple[Nvml, int]]
On = Callable[[str, str], str]


@pytest.fixture(scope="session")
def take(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Take]:
    """``take(text, listing=None, options...)``: the text (and list), imported as ``x`` into an empty workspace."""
    made: dict[bytes, Taken] = {}

    def taken(text: str | bytes, listing: str | bytes | None = None, *options: str) -> Taken:
        files = {name: given.encode("utf-8", "surrogateescape") if isinstance(given, str) else given
                 for name, given in (("given.xml", text), ("given.txt", listing)) if given is not None}  # fmt: skip
        key = hashlib.sha256(repr((sorted(files.items()), options)).encode()).digest()
        if key not in made:
            made[key] = import_into(tmp_path_factory.mktemp("taken"), files, options)
        return made[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NVPARITY_LIBRARY", str(library_path))
        yield taken


@pytest.fixture(scope="session")
def on(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[On]:
    """``on(board, driver)``: the readings of a board as another driver prints them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NVPARITY_LIBRARY", str(library_path))
        yield functools.cache(lambda board, driver: printed_on(board, driver, tmp_path_factory.mktemp("on")))


@pytest.fixture(scope="session")
def opened(library_path: Path) -> Nvml:
    """The library, loaded once in this process."""
    return binding.open_library(library_path)


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The image of a board at hand."""
    folder = tmp_path_factory.mktemp("images")

    def made(board: str) -> Path:
        target = folder / f"{board}.nvpimg"
        if not target.exists():
            serving.write_image(ROOT / "profiles" / f"{board}.yaml", Workspace(ROOT), target)
        return target

    return made


@pytest.fixture
def ask(opened: Nvml, images: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """``ask(taken or board, index=0)``: the library on that image, initialised, and the handle of a device (0 where there is none)."""
    for name in ("MOCK_NVML_CONFIG", "MOCK_NVML_STATE", "MOCK_NVML_OVERRIDES", "MOCK_NVML_NUM_DEVICES", "MOCK_NVML_DRIVER_VERSION"):
        monkeypatch.delenv(name, raising=False)

    def asked(what: Taken | str, index: int = 0) -> tuple[Nvml, int]:
        _end(opened)
        monkeypatch.setenv("NVPARITY_IMAGE", str(images(what) if isinstance(what, str) else what.image))
        assert opened.init() == 0
        return opened, opened.device(index) if opened.count() > index else 0

    yield asked
    _end(opened)


def _end(nvml: Nvml) -> None:
    while nvml.shutdown() == 0:
        continue
