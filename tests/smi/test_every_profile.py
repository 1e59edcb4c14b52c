"""Every profile of the repository as the driver of each binary: builtin prints what the binary does, in `-q -x`, `-L` and `-q` with its sections.

One process a binary: an image a profile, read by both.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.stages import retargeting
from harness.stores import profiles
from harness.stores.profiles import Profile
from harness.stores.workspace import Workspace
from harness.tables import sections
from harness.words.state import State
from tests.smi.side_by_side import ROOT, Pairs

SPACE = Workspace(ROOT)
NAMES = sorted(path.stem for path in SPACE.profiles.glob("*.yaml") if path.stem != "boards")
OLD = (340, 390, 418, 450, 460, 470)
"""Branches whose binaries say of a GPU without an address that it has none; newer ones print what memory held."""
SECTIONS_OF = ("t4-x1_595.91.07", "v100-pcie-32gb-x1_460.39", "a100-sxm4-40gb-x1_570.148.08", "geforce-gtx-1070-x2_384.66_4")
"""Profiles of which each section is printed by itself: one of each family of counters, one with processes of two types."""


def served(name: str, version: str) -> Profile:
    """The profile as a driver, but for GPUs that its capture left out: nothing is known of them, and `-L` names them from memory never written."""
    profile = retargeting.retarget(profiles.load(SPACE.profiles / f"{name}.yaml"), SPACE, version).profile
    captured = tuple(device for device in profile.devices if device.state is not State.UNCAPTURED)
    return replace(profile, devices=captured)


def addressed(profile: Profile) -> bool:
    """Whether every GPU has its address: a list of names (`-L`) is all that a capture of it says."""
    return all("pci.bus_id" in device.values for device in profile.devices)


@pytest.mark.parametrize("branch", OLD)
def test_builtin_prints_what_the_binary_prints_of_every_profile(pairs: Pairs, branch: int) -> None:
    if branch not in pairs.binaries:
        pytest.skip(f"NVPARITY_SMI has no nvidia-smi of branch {branch}")
    told = []
    for name in NAMES:
        profile = served(name, pairs.versions[branch])
        wanted = ("q-x", "q", "L")
        told += [f"{name}: {difference}" for difference in pairs.of_profile(branch, profile, wanted)]
    assert told == []
    assert len(NAMES) >= 74


@pytest.mark.parametrize("branch", OLD)
def test_builtin_prints_each_section_as_the_binary_does(pairs: Pairs, branch: int) -> None:
    if branch not in pairs.binaries:
        pytest.skip(f"NVPARITY_SMI has no nvidia-smi of branch {branch}")
    wanted = tuple(f"q:{name}" for name in sections.names(pairs.tree.resolve(pairs.versions[branch]).text))
    told = []
    for name in SECTIONS_OF:
        told += [f"{name}: {difference}" for difference in pairs.of_profile(branch, served(name, pairs.versions[branch]), wanted)]
    assert told == []
    assert len(wanted) >= 12


def test_a_profile_without_an_address_is_among_them(pairs: Pairs) -> None:
    """The binaries say why such a GPU is not printed, and end with the code that said so."""
    nameless = [name for name in NAMES if not addressed(served(name, "470.256.02"))]
    assert len(nameless) > 30
