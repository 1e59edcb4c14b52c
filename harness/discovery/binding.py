"""Discovery through a library: the node's own libnvidia-ml.so.1, or a mock in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.discovery import classes, numbers, nvml, problems
from harness.discovery.combining import with_problem
from harness.discovery.model import UNKNOWN, Gpu, Health, Node
from harness.stages.smi import LIBRARY_NAME
from harness.words.errors import GateError, MissingError
from mocklib import binding

if TYPE_CHECKING:
    from mocklib.binding import Nvml

_MIB = 1 << 20
_GPU_TEMPERATURE = 0
"""NVML_TEMPERATURE_GPU."""
_UNCORRECTED_VOLATILE = {"errorType": 1, "counterType": 0}
"""NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC."""
_SLICES, _MEMORY = "attributes.gpuInstanceSliceCount", "attributes.memorySizeMB"


class Handle:
    """A device handle of an open library, card or MIG device: `nvml.MigCard` and `nvml.MigInstance`."""

    def __init__(self, library: Nvml, device: int) -> None:
        self.library = library
        self.device = device

    def ask(self, function: str, **arguments: Any) -> dict[str, Any]:
        """What ``function`` wrote; empty where it fails or the library lacks it."""
        answer = self.library.call(function, self.device, arguments)
        return {} if answer.code else answer.out

    def mig_mode(self) -> tuple[bool, bool] | None:
        """NVML: nvmlDeviceGetMigMode."""
        out = self.ask("nvmlDeviceGetMigMode")
        return (out["currentMode"] == 1, out["pendingMode"] == 1) if out else None

    def max_mig_devices(self) -> int:
        """NVML: nvmlDeviceGetMaxMigDeviceCount."""
        return int(self.ask("nvmlDeviceGetMaxMigDeviceCount").get("count", 0))

    def mig_device(self, index: int) -> Handle | None:
        """NVML: nvmlDeviceGetMigDeviceHandleByIndex."""
        found = self.ask("nvmlDeviceGetMigDeviceHandleByIndex", index=index).get("migDevice")
        return None if found is None else Handle(self.library, int(found))

    def uuid(self) -> str:
        """NVML: nvmlDeviceGetUUID."""
        return str(self.ask("nvmlDeviceGetUUID").get("uuid", ""))

    def name(self) -> str:
        """NVML: nvmlDeviceGetName."""
        return str(self.ask("nvmlDeviceGetName").get("name", ""))

    def memory(self) -> tuple[int, int] | None:
        """NVML: nvmlDeviceGetMemoryInfo."""
        out = self.ask("nvmlDeviceGetMemoryInfo")
        return (out["memory.total"] // _MIB, out["memory.used"] // _MIB) if out else None

    def instances(self) -> tuple[int, int]:
        """NVML: nvmlDeviceGetGpuInstanceId and nvmlDeviceGetComputeInstanceId."""
        ids = (self.ask(f"nvmlDeviceGet{kind}InstanceId").get("id", UNKNOWN) for kind in ("Gpu", "Compute"))
        gpu_instance, compute_instance = map(int, ids)
        return gpu_instance, compute_instance

    def attributes(self) -> tuple[int, int] | None:
        """NVML: nvmlDeviceGetAttributes_v2."""
        out = self.ask("nvmlDeviceGetAttributes_v2")
        return (int(out[_SLICES]), int(out[_MEMORY])) if out else None


def discover(library: str | None = None, *, compatible: bool = False) -> Node:
    """The devices that ``library`` has (None: the libnvidia-ml.so.1 that the loader finds).

    A card without a handle is a problem of the node.  Raises MissingError for a library that cannot be loaded, GateError, with the library's own
    text, for one that does not initialise.
    """
    try:
        opened = binding.open_library(library or LIBRARY_NAME)
    except binding.BindingError as error:
        raise MissingError(f"{error}; is this a node with a driver? (--library PATH names a library elsewhere)") from error
    if opened.function("nvmlInit_v2") is None:
        raise MissingError(f"{library or LIBRARY_NAME} is no NVML library: it has no nvmlInit_v2 (--library PATH names a library elsewhere)")
    code = opened.init()
    if code:
        raise GateError(f"nvmlInit_v2 answers {opened.error_string(code)} ({code})")
    try:
        return node_of(opened, compatible=compatible)
    finally:
        opened.shutdown()


def node_of(opened: Nvml, *, compatible: bool = False) -> Node:
    """The devices of ``opened``, which is initialised."""
    gpus: list[Gpu] = []
    said: list[str] = []
    versions = (_driver(opened), _cuda(opened))
    counted = opened.call("nvmlDeviceGetCount_v2")
    if counted.code:
        said.append(problems.NO_COUNT.format(reason=opened.error_string(counted.code)))
    count = int(counted.out.get("deviceCount", 0))
    if not compatible and count > numbers.FIRST_INSTANCE:
        said.append(problems.NO_CARD_NUMBER.format(count=count - numbers.FIRST_INSTANCE, first=numbers.FIRST_INSTANCE))
    for index in range(min(count, numbers.FIRST_INSTANCE)):
        answer = opened.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index})
        if answer.code:
            said.append(problems.LOST.format(address=f"index {index}", reason=opened.error_string(answer.code)))
            continue
        handle = Handle(opened, int(answer.out["device"]))
        made, _ = nvml.expand(_card(handle, index, *versions), handle, compatible=compatible)
        gpus.extend(made)
    return Node(tuple(gpus), () if compatible else tuple(said))


def _driver(opened: Nvml) -> str:
    return str(opened.call("nvmlSystemGetDriverVersion").out.get("version", ""))


def _cuda(opened: Nvml) -> str:
    number = opened.call("nvmlSystemGetCudaDriverVersion_v2").out.get("cudaDriverVersion")
    return "" if not number else f"{number // 1000}.{number % 1000 // 10}"


def _card(handle: Handle, index: int, driver: str, cuda: str) -> Gpu:
    """The card behind ``handle``; what it does not answer is not known."""
    total, used = handle.memory() or (None, None)
    name = handle.name()
    capability = handle.ask("nvmlDeviceGetCudaComputeCapability")
    milliwatts = handle.ask("nvmlDeviceGetPowerUsage").get("power")
    card = Gpu(
        index,
        handle.uuid(),
        name,
        classes.card_class(name, total),
        total,
        used,
        str(handle.ask("nvmlDeviceGetPciInfo_v3").get("pci.busId", "")),
        driver,
        cuda,
        f"{capability['major']}.{capability['minor']}" if capability else "",
        numa_node=handle.ask("nvmlDeviceGetNumaNodeId").get("node"),
        utilization_percent=handle.ask("nvmlDeviceGetUtilizationRates").get("utilization.gpu"),
        power_w=None if milliwatts is None else milliwatts / 1000,
        health=Health(
            handle.ask("nvmlDeviceGetTotalEccErrors", **_UNCORRECTED_VOLATILE).get("eccCounts"),
            handle.ask("nvmlDeviceGetTemperature", sensorType=_GPU_TEMPERATURE).get("temp"),
        ),
    )
    return _lost(handle, card)


def _lost(handle: Handle, card: Gpu) -> Gpu:
    """``card``, with the problem that it is lost or needs a reset where the library says so of its memory."""
    code = handle.library.call("nvmlDeviceGetMemoryInfo", handle.device).code
    return with_problem(card, handle.library.error_string(code)) if code in problems.DEAD else card
