"""The class of a device: what placement counts and asks for.

A card's class is made of its product name and memory, an instance's of the card's class and its profile: ``a100-80g-mig-3g.40gb``.
Source: the MIG discovery document and the ledger's rows DM08 to DM14; the profile names are nvidia-smi's (facts on MIG tables).
"""

from __future__ import annotations

import math
import re

MARKER = "-mig-"
"""Joins a card's class to a profile; a class that holds it is one of instances."""

MIB_PER_GB = 1024
_UNCLEAN = re.compile(r"[^a-z0-9.]+")
_MEMORY = re.compile(r"[0-9]+g\.([0-9]{1,9})gb")
_MEMORY_OF_PART = re.compile(r"(?:[0-9]+c\.)?[0-9]+g\.([0-9]{1,9})gb")
_SIZE = re.compile(r"\b([0-9]{1,9})\s*gb\b", re.IGNORECASE)
_FORM = re.compile(r"^(?:sxm\d?|pcie?|pg\d+|hbm\w*|oam|ac|nvl\d*)$")
_VENDOR = frozenset({"nvidia", "tesla", "quadro", "geforce", "graphics", "device", "gpu"})
_FRACTIONS = 8
"""Memory is shared out in eighths of a card (NVIDIA's go-nvlib names profiles so)."""


def card_class(name: str, memory_mib: int | None) -> str:
    """The class of a card: its product name without vendor, form factor and memory, then its memory in GB: ``a100-80g``, ``rtx-3090-24g``.

    The memory is what the name says (``NVIDIA A100-SXM4-80GB``), else ``memory_mib`` in GB, rounded up as in the names of MIG profiles
    (183359 MiB: 180); a card whose memory neither tells has none in its class.  A name of nothing else is kept: ``NVIDIA Graphics Device`` is
    ``graphics-device``.
    """
    said = _SIZE.search(name)
    size = int(said[1]) if said else math.ceil(memory_mib / MIB_PER_GB) if memory_mib else 0
    words = [word for word in _UNCLEAN.sub("-", _SIZE.sub(" ", name).lower()).replace("-", " ").split() if not _FORM.match(word)]
    kept = [word for word in words if word not in _VENDOR] or [word for word in words if word != "nvidia"]
    return "-".join([*kept, *([f"{size}g"] if size else [])])


def instance_class(of_card: str, profile: str, *, compatible: bool = False) -> str:
    """The class of an instance of a card of class ``of_card``, which is taken as it is: ``a100-80g`` and ``3g.40gb`` are ``a100-80g-mig-3g.40gb``.

    A profile that adds something (``1g.10gb+me``) has a dot where the one that leaves something out (``1g.24gb-me``) has a hyphen, as NVIDIA's
    device plugin spells resources: the two are not the same device.  No profile gives no class.  ``compatible``: both have the hyphen, and no
    profile gives a class that ends in the marker.
    """
    text = profile.strip().lower()
    if not compatible:
        text = text.replace("+", ".")
        if not text:
            return ""
    return of_card + MARKER + _UNCLEAN.sub("-", text).strip("-")


def is_instance_class(text: str) -> bool:
    """Does the class ``text`` name instances?"""
    return MARKER in text


def profile_memory_gb(text: str, *, compatible: bool = False) -> int:
    """The memory in GB that a class or a profile says: 40 of ``a100-80g-mig-3g.40gb`` or ``3g.40gb``; 0 where it says none.

    A profile of a compute instance (``1c.3g.20gb``) says the memory of the GPU instance that it shares; ``compatible`` reads none of it.
    """
    part = text[text.rfind(MARKER) + len(MARKER) :] if MARKER in text else text
    match = (_MEMORY if compatible else _MEMORY_OF_PART).match(part.lower())
    return int(match[1]) if match else 0


def profile_of(slices: int, memory_mib: int, card_memory_mib: int | None = None, *, compatible: bool = False) -> str:
    """The profile of ``slices`` compute slices and ``memory_mib`` of memory, where the driver names none.

    Its GB are the card's times the eighths that the memory takes, as NVIDIA's names are made: 40192 MiB of an A100 with 81920 MiB is
    ``3g.40gb``.  Where the card's memory is not known, and with ``compatible``, they are the memory's own, half up: ``3g.39gb``.
    """
    if compatible or not card_memory_mib:
        return f"{slices}g.{math.floor(memory_mib / MIB_PER_GB + 0.5)}gb"
    eighths = math.ceil(memory_mib * _FRACTIONS / card_memory_mib)
    return f"{slices}g.{math.floor(eighths * math.ceil(card_memory_mib / MIB_PER_GB) / _FRACTIONS + 0.5)}gb"
