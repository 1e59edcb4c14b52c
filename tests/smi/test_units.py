"""`-q -u` with the real binaries: host interface cards of the profile, and no unit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.render import serving
from harness.stages.smi import run_smi
from harness.stores.workspace import Workspace
from tests.smi.test_processes import VERSIONS

PROFILE = """version: "1.0"
system:
  driver_version: "{version}"
  hic: [{{id: 3, firmware_version: 1.2.3.4}}, {{id: 9, firmware_version: abc}}]
devices: [{{index: 0}}]
"""


@pytest.mark.spec("B07", "H14")
@pytest.mark.parametrize("branch", VERSIONS)
def test_cards_are_listed_with_their_firmware_and_no_unit(
    branch: int, smi_binary: Callable[[int], Path], library_path: Path, repository: Path, tmp_path: Path
) -> None:
    profile, image = tmp_path / "node.yaml", tmp_path / "node.img"
    profile.write_text(PROFILE.format(version=VERSIONS[branch]), "utf-8")
    image.write_bytes(serving.image_bytes(profile, Workspace.find(repository)))
    done = run_smi(smi_binary(branch), ("-q", "-u"), library=library_path, variables={"NVPARITY_IMAGE": str(image)}, limit_s=20)
    rows = [" ".join(line.split()) for line in done.stdout.decode().splitlines()]
    assert done.status == 0
    assert rows[rows.index("HIC Info") :] == ["HIC Info", "HIC 3", "Firmware Version : 1.2.3.4", "HIC 9", "Firmware Version : abc", "",
                                              "Attached Units : 0", ""]  # fmt: skip
