"""Build the library with its zero-config default inside: what the wheel, the sessions and a checkout's commands share."""

from __future__ import annotations

from pathlib import Path

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.tables import drivers
from harness.tables.shipped import shipped
from mocklib import build, image

DEFAULT_BOARD = "a100-sxm4-40gb-x1_570.148.08"
DEFAULT_DRIVER = "550.163.01"
"""Ledger A14: with no configuration the reference serves A100s on driver 550.163.01."""


def default_image() -> bytes:
    """The image that a library without any configuration serves: the A100 profile's readings, the reference's count, identity and BAR1."""
    board = profiles.load(shipped("profiles", f"{DEFAULT_BOARD}.yaml"))
    return image.pack(compiling.zero_config_spec(board, drivers.load().resolve(DEFAULT_DRIVER)))


def build_library(flavour: str, out: Path) -> Path:
    """Build ``flavour`` (release, sanitize, killpoints) into ``out`` where its inputs changed; the path of libnvidia-ml.so.1 there.

    Raises mocklib.build.BuildError, whose message names what is missing and the command that brings it.
    """
    return build.library(flavour, out, default_image())
