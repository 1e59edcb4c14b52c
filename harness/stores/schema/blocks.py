"""The blocks of a profile that hold lists or blocks of their own: one pydantic model each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from harness.stores.schema.kinds import U32, Base, BusId, Mib, Text, Uint

Percent = Annotated[int, Field(ge=0, le=100)]
Count = Annotated[int, Field(ge=0, le=U32)]
Id = Annotated[int, Field(ge=0, le=254)]
Link = Annotated[int, Field(ge=0, le=17)]
Fraction = Annotated[float, Field(ge=0, le=1e12)]
Probability = Annotated[float, Field(ge=0, le=1)]
BwMode = Annotated[int, Field(ge=0, le=255)]
Preset = Annotated[int, Field(ge=0, le=4)]


class Process(Base):
    """One entry of ``processes``; the last five keys are extensions.

    ``max_memory_mib``: the most it ever held, as accounting counts; ``accounted``: whether the accounting buffer has a record of it.
    """

    pid: Count
    type: Literal["C", "G", "M", "C+G", "M+C", "M+C+G"] = "C"
    name: Text = ""
    used_memory_mib: Mib | None = None
    sm_util: Percent = 0
    mem_util: Percent = 0
    enc_util: Percent = 0
    dec_util: Percent = 0
    gpu_instance_id: Count | None = None
    compute_instance_id: Count | None = None
    protected_memory_mib: Mib = 0
    max_memory_mib: Mib | None = None
    accounted: bool = True


class Accounted(Base):
    """One entry of ``accounting.terminated``."""

    pid: Count
    gpu_util: Percent = 0
    mem_util: Percent = 0
    max_memory_mib: Mib = 0
    time_ms: Uint = 0


class MemoryClock(Base):
    """One entry of ``supported_clocks.memory_clocks``."""

    freq_mhz: Count
    graphics_clocks: list[Count]


class Pages(Base):
    """Retired pages of one cause; ``timestamps``: when each was retired, in seconds since 1970, 0 where that is not known."""

    count: Count
    addresses: list[Uint] | None = None
    timestamps: list[Uint] | None = None


class FanControl(Base):
    """One entry of ``fan.controls``: a fan that starts under the driver's curve or held at a duty cycle."""

    fan: Count
    policy: Literal["auto", "manual"] = "auto"
    speed_percent: Percent | None = None


class MhzRange(Base):
    """A range that clocks are locked into, MHz."""

    min_mhz: Count
    max_mhz: Count


class WorkloadProfile(Base):
    """One entry of ``power.workload_power_profiles.supported``; the lower priority wins."""

    id: Id
    priority: Count = 0
    conflicts: list[Id] | None = None


class EncoderSession(Base):
    """One entry of ``encoder_stats.sessions`` (extension): nvml.h, nvmlEncoderSessionInfo_t."""

    id: Count
    pid: Count = 0
    codec: Literal["h264", "hevc", "av1"] = "h264"
    width: Count = 0
    height: Count = 0
    average_fps: Count = 0
    average_latency_us: Count = 0


class FbcSession(Base):
    """One entry of ``fbc_stats.sessions`` (extension): nvml.h, nvmlFBCSessionInfo_t; ``flags`` are its NVML_NVFBC_SESSION_FLAG bits."""

    id: Count
    pid: Count = 0
    display: Count = 0
    type: Literal["unknown", "tosys", "cuda", "vid", "hwenc"] = "unknown"
    flags: Count = 0
    max_width: Count = 0
    max_height: Count = 0
    width: Count = 0
    height: Count = 0
    average_fps: Count = 0
    average_latency_us: Count = 0


class SmoothingPreset(Base):
    """One preset of ``power.smoothing.profiles``."""

    percent_tmp_floor: Annotated[float, Field(ge=0, le=100)] = 0
    ramp_up_rate_mw_per_s: Uint = 0
    ramp_down_rate_mw_per_s: Uint = 0
    ramp_down_hysteresis_ms: Uint = 0


class Hic(Base):
    """One host interface card of ``system.hic``; a longer version is cut to 31 characters."""

    id: Count
    firmware_version: Text = ""


class NvLink(Base):
    """One entry of ``nvlink.links``; an empty state is active.  ``remote_link`` (extension): the link's number at the other end."""

    link: Link
    state: Text = ""
    remote_device_type: Text | None = None
    remote_pci_bus_id: BusId | None = None
    remote_index: Count | None = None
    remote_link: Link | None = None


class DeviceLinks(Base):
    """One entry of ``nvlink.device_links``: the links of the GPU of this index."""

    index: Count
    links: list[NvLink] | None = None


class Switch(Base):
    """One NVSwitch of the node; one with a device id stands on its PCI bus."""

    bdf: BusId
    uuid: Text | None = None
    device_id: Count | None = None


class RootComplex(Base):
    """One PCI root complex and the GPUs below it."""

    id: Text
    numa_node: Annotated[int, Field(ge=-1, le=65535)] | None = None
    devices: list[BusId] | None = None
    cpu_affinity: Text | None = None


class Features(Base):
    """What the board is said to offer, by free name."""

    model_config = ConfigDict(strict=True, extra="allow")
    __pydantic_extra__: dict[str, bool | int | str]


KINDS: dict[str, Any] = {
    "ratio": Percent,
    "fraction": Fraction,
    "probability": Probability,
    "preset": Preset,
    "link_count": Annotated[int, Field(ge=0, le=18)],
    "links": list[Link],
    "numbers": list[Id],
    "clock_table": list[MemoryClock],
    "processes": list[Process],
    "accounted": list[Accounted],
    "pages": Pages,
    "encoder_sessions": list[EncoderSession],
    "fbc_sessions": list[FbcSession],
    "fan_controls": list[FanControl],
    "mhz_range": MhzRange,
    "workload_profiles": list[WorkloadProfile],
    "presets": Annotated[dict[Preset, SmoothingPreset], Field(json_schema_extra={"propertyNames": {"pattern": "^[0-4]$"}})],
    "mapping": dict[str, Any],
    "mappings": list[dict[str, Any]],
    "features": Features,
    "bw_mode": BwMode,
    "bw_modes": list[BwMode],
    "nvlinks": list[NvLink],
    "device_links": list[DeviceLinks | list[NvLink]],
    "link_threshold": Annotated[int, Field(ge=1, le=8191)],
    "instants": list[Uint],
    "switches": list[Switch],
    "root_complexes": list[RootComplex],
}
"""Kind of a key -> its type; MIG's tables and the vGPU block, which the reference describes on pages of their own, are kept as they are."""
