"""What a file is when it is no capture: one line that names it and says what to do."""

from __future__ import annotations

import re

from harness.text import quoting, rawbytes
from harness.words.errors import InputError

# Texts of nvidia-smi and of what stands around it when it fails, from reports of users; the NVML reason is quoted.
_KNOWN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Failed to initialize NVML: ([^\n]+)"), "NVML init failed ({}); repair the driver and capture again"),
    (re.compile(r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA"), "nvidia-smi found no running driver; load it"),
    (re.compile(r"NVIDIA-SMI couldn't find ([^\n]*?library)"), "nvidia-smi did not find {}; install the driver and capture again"),
    (re.compile(r"(?:nvidia-smi: )?(?:command )?not found|is not recognized"), "nvidia-smi is not installed where it was run"),
    (re.compile(r"No devices were found"), "nvidia-smi found no device and printed no XML; as a list it can be imported"),
    (re.compile(r"Unable to determine the device handle for ([^\n:]+[^\n]*)"), "no device handle for {}; capture again without that GPU"),
    (re.compile(r"NVSMI LOG"), "it is `nvidia-smi -q` text; capture with `nvidia-smi -q -x`"),
    (re.compile(r"^\s*GPU [0-9]+: ", re.MULTILINE), "it is an `nvidia-smi -L` list; give it as the list, not as the query"),
    (re.compile(r"^\s*\+-{10,}", re.MULTILINE), "it is a table of nvidia-smi; capture with `nvidia-smi -q -x`"),
)
_ELEMENT = re.compile(r"<([A-Za-z_][A-Za-z0-9_.:-]{0,60})[\s>/]")


def check_size(data: bytes, name: str, limit: int) -> None:
    """Raises InputError for an empty file, one over ``limit`` bytes, and text in UTF-16."""
    if not data.strip():
        raise InputError(f"{name}: empty: nvidia-smi printed nothing (a timeout leaves this); capture again")
    if len(data) > limit:
        raise InputError(f"{name}: too large: {len(data)} bytes, the limit is {limit}; a capture of 72 GPUs is under 4 MB")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise utf16(name)


def utf16(name: str) -> InputError:
    """The error for text in UTF-16."""
    return InputError(f"{name}: UTF-16 text, as PowerShell's `>` writes it; convert it: iconv -f UTF-16 -t UTF-8")


def not_a_capture(text: str, name: str, view: str = "-q -x") -> InputError:
    """The error for a text that is no capture of ``view`` (`-q -x`: no root element; `-L`: no row)."""
    head = text[:65536]
    if re.search(r"<!DOCTYPE nvidia_smi|<\?xml[^>]*>\s*(?:<!D[^>]*)?$", head):
        last = text.count("\n") + (not text.endswith("\n"))
        return InputError(f"{name}:{last}: truncated: ends before <nvidia_smi_log>, line {last}; the file was cut off, capture again")
    for pattern, what in _KNOWN:
        match = pattern.search(head)
        if match and view in what and "give it as" in what:
            break
        if match:
            reason = match[1].strip() if pattern.groups else ""
            if "NVML init" in what:
                reason = reason.lower()
            return InputError(f"{name}: not an nvidia-smi capture: {what.format(reason)}")
    element = _ELEMENT.search(head) if head.lstrip("\ufeff \t\r\n").startswith("<") else None  # notes and programs have a `<` somewhere too
    if element:
        return InputError(f"{name}: not an nvidia-smi capture: it is XML or HTML with <{element[1]}>")
    first = next((line.strip() for line in head.split("\n") if line.strip()), "")
    return InputError(f"{name}: not an nvidia-smi capture: it starts {_shown(first[:60])}; capture with `nvidia-smi {view}`")


def _shown(text: str) -> str:
    """``text`` in quotes; a byte that is none of UTF-8, or does not print, as its number."""
    return quoting.quote(text) if rawbytes.has_odd_bytes(text) else repr(text)
