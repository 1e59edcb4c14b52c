"""The reviewed list: complete, in the header's words, and nothing on it can change a device."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mocklib import argument_sets, asking, fields, getters
from mocklib.answers import Asked
from mocklib.binding import function_names
from mocklib.calls import Call, ffi, signatures
from mocklib.fields import TableError

CHANGE = {
    *("Set", "Clear", "Reset", "Create", "Destroy", "Validate", "Freeze", "Modify", "Remove", "Discover", "Register", "Alloc", "Free"),
    *("Lock", "Force", "Activate", "Update", "Setup", "Wait", "Init"),
}
READ = {"Get", "Query", "Is", "On", "Read"}
OF_THE_LIBRARY = {"nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown", "nvmlErrorString", "nvmlRetry_NvRmControl"}


def changes(name: str) -> bool:
    """Whether a name is no query: the library's own, or the first verb in it changes; a name that is neither this nor listed is new."""
    words = re.findall(r"[A-Z][a-z]*", name.replace("EventSet", "Event", 1))
    first = next((word for word in words if word in CHANGE | READ), None)
    return name in OF_THE_LIBRARY or first in CHANGE or "Write" in words


def test_every_function_of_the_header_that_reads_is_on_the_list_or_says_why_not() -> None:
    listed = getters.getters()
    known = {*function_names(), *fields.since()}
    unlisted = {name for name in known if name not in listed}
    assert {name for name in unlisted if not changes(name)} == set(), "asked, or a why_not in mocklib/tables/getters.yaml"
    wanted = re.compile(r"^nvml(?:Device|System|Unit|Vgpu\w+?|GpuInstance|ComputeInstance)Get|^nvmlGet|^nvmlDeviceIs|^nvmlGpm\w*(?:Query|Get)")
    assert {name for name in known if wanted.match(name)} <= set(listed)
    assert set(listed) <= known


def test_a_new_function_of_the_header_is_named() -> None:
    assert not changes("nvmlDeviceGetFrobnication_v1")
    assert not changes("nvmlDeviceFrobnicationInfo")


@pytest.mark.parametrize("name", [name for name in fields.since() if changes(name)])
def test_no_function_that_changes_anything_can_be_put_on_the_list(name: str) -> None:
    assert getters.getters().get(name) is None
    document = {"format": 1, "functions": {name: {}}}
    with pytest.raises(TableError, match=rf"{name} is asked"):
        getters.read(document)


@pytest.mark.parametrize("verb", sorted(getters.CHANGING))
def test_each_verb_is_refused_wherever_it_stands(verb: str) -> None:
    for name in (f"nvmlDeviceGet{verb}", f"nvmlDevice{verb}Clocks", f"nvmlSystemGetGpu{verb}State"):
        with pytest.raises(TableError, match=r"may change a device|names that may be"):
            getters.refuse_change(name)


@pytest.mark.parametrize("name", ["nvmlInit_v2", "nvmlDevicePowerOff", "nvmlDeviceDrain", "nvmlEventSetGetContextCount_v1", "nvmlInternalGetTable"])
def test_a_name_that_does_not_begin_as_a_query_is_refused(name: str) -> None:
    with pytest.raises(TableError, match="is asked"):
        getters.refuse_change(name)


def test_a_reason_is_one_short_sentence() -> None:
    reasons = [text for getter in getters.getters().values() for text in (getter.why_not, getter.slow, *getter.drop.values()) if text]
    assert all(5 < len(text) < 140 and not text.endswith(".") for text in reasons)


def _places(function: str) -> list[str]:
    """Every parameter of a function, and every member of its structs, of whatever version, in the header's order."""
    found: list[str] = []
    for param, kind, _ in signatures().FUNCTIONS[function]:
        found.append(param)
        struct = ffi().typeof(kind).item if kind.endswith("*") and not kind.startswith(("char", "void")) else None
        if struct is not None and struct.kind == "struct":
            versions = signatures().VERSIONS.get(signatures().ALIASES.get(kind.rstrip(" *"), kind.rstrip(" *")), {})
            for actual in [struct, *map(ffi().typeof, versions.values())]:
                found += [f"{param}.{member}" for member, _ in actual.fields]
    return found


@pytest.mark.parametrize("function", getters.asked_functions())
def test_arguments_are_named_and_ordered_as_in_the_header(function: str) -> None:
    getter = getters.getters()[function]
    if function == getters.FIELD_VALUES:
        assert getter.inputs == ("fieldId", "scopeId")
        return
    places = list(dict.fromkeys(_places(function)))
    assert [name for name in places if name in getter.inputs] == list(getter.inputs)
    inputs = [param for param, _, role in signatures().FUNCTIONS[function] if role == "in" and param != "length"]
    devices = [param for param, _, role in signatures().FUNCTIONS[function] if role == "device"][1:]
    assert {*inputs, *devices} <= set(getter.inputs)
    versioned = {f"{param}.version" for param, kind, _ in signatures().FUNCTIONS[function] if _versions(kind)}
    assert versioned <= set(getter.inputs), "each version of a struct is asked for by its number"


def _versions(kind: str) -> bool:
    """Whether a struct has a version word and versions."""
    name = signatures().ALIASES.get(kind.rstrip(" *"), kind.rstrip(" *"))
    return name in signatures().VERSIONS and "version" in dict(ffi().typeof(name).fields)


@pytest.mark.parametrize("function", [name for name in getters.asked_functions() if name != getters.FIELD_VALUES])
def test_every_call_of_the_list_can_be_made_and_its_marks_name_what_it_answers(function: str) -> None:
    getter = getters.getters()[function]
    answered: set[str] = set()
    versions: list[int | None] = [None]
    for name, each in getter.sets.items():
        if each.kind == "versions":
            versions = [*argument_sets.versions(function, name)]
    for version in versions:
        given: dict[str, Any] = {name: version if name.endswith(".version") and version else 1 for name in getter.inputs}
        call = Call(ffi(), function, None, {name: "x" if name.endswith("usId") else value for name, value in given.items()})
        found = call.results(0)
        answered |= {*found, *(f"{name}.{member}" for name in found for member in _entries(function, name))}
    marks = {*getter.identifier, *(getter.moving or ()), *getter.drop}
    assert marks <= answered


def _entries(function: str, name: str) -> list[str]:
    """The members of the entries of a list in the results."""
    places = {"utilization": "nvmlProcessUtilizationSample_t", "procesesUtilInfo.procUtilArray": "nvmlProcessUtilizationInfo_v1_t"}
    return [member for member, _ in ffi().typeof(places[name]).fields] if name in places and function != "nvmlDeviceGetUtilizationRates" else []


def test_what_identifies_is_marked() -> None:
    """Every name in an answer that says of itself that it identifies is scrubbed."""
    telling = re.compile(r"(?i)serial|uuid|guid|\bpdi\.value|hostname|process_?name|vmId")
    unmarked = []
    for function in getters.asked_functions():
        if function != getters.FIELD_VALUES:
            getter = getters.getters()[function]
            found = Call(ffi(), function, None, {}).results(0)
            unmarked += [f"{function}: {name}" for name in found if telling.search(name) and name not in getter.identifier]
    assert [name for name in unmarked if not name.endswith(".version")] == []
    assert getters.getters()["nvmlSystemGetProcessName"].identifier == {"name": "process_name"}


def test_a_reading_of_a_moment_is_told_by_its_call() -> None:
    assert getters.moving(Asked("nvmlDeviceGetClockInfo", 0, (("type", 0),)), "clock")
    assert getters.moving(Asked("nvmlDeviceGetMemoryInfo", 0), "memory.used")
    assert not getters.moving(Asked("nvmlDeviceGetMemoryInfo", 0), "memory.total")
    assert not getters.moving(Asked("nvmlDeviceGetName", 0), "name")
    assert not getters.moving(Asked("nvmlDeviceSetPersistenceMode", 0), "mode")
    power = Asked(getters.FIELD_VALUES, 0, (("fieldId", 186), ("scopeId", 0)))
    assert getters.moving(power, "value")
    assert not getters.moving(power, "valueType")
    assert not getters.moving(Asked(getters.FIELD_VALUES, 0, (("fieldId", 91), ("scopeId", 0))), "value")


def test_every_member_of_an_enum_is_asked_and_one_past_its_end() -> None:
    assert argument_sets.enum_values("nvmlDeviceGetClockInfo", "type") == [0, 1, 2, 3, 4]
    assert argument_sets.enum_values("nvmlDeviceGetTopologyNearestGpus", "level") == [0, 10, 20, 30, 40, 50, 51]
    assert argument_sets.enum_values("nvmlDeviceGetClockOffsets", "info.pstate")[-2:] == [32, 33]
    assert argument_sets.versions("nvmlDeviceGetGpuFabricInfoV", "gpuFabricInfo.version") == [2, 3]


def test_numbers_of_the_header_in_the_list_are_the_headers() -> None:
    from mocklib.gen.header import find_header

    text = find_header().read_text("utf-8")
    defined = {name: int(value, 0) for name, value in re.findall(r"#define (NVML_\w+)\s+\(?(0x[0-9A-Fa-f]+|\d+)U?\)?(?:\s|$)", text)}
    listed = getters.getters()
    assert max(listed[getters.FIELD_VALUES].field_scopes) == defined["NVML_FI_MAX"]
    assert len(listed["nvmlDeviceGetNvLinkState"].sets["link"].values) == defined["NVML_NVLINK_MAX_LINKS"]
    assert max(listed["nvmlDeviceGetGpuInstanceProfileInfo"].sets["profile"].values) == defined["NVML_GPU_INSTANCE_PROFILE_COUNT"]
    assert listed["nvmlDeviceGetSupportedPerformanceStates"].sets["size"].values == (4 * defined["NVML_MAX_GPU_PERF_PSTATES"],)
    assert len(listed[getters.FIELD_VALUES].field_scopes[185][0].values) == defined["NVML_POWER_SCOPE_COUNT"]


@pytest.mark.parametrize(
    ("name", "entry", "said"),
    [
        ("nvmlDeviceGetNme", {}, "is no function of since.yaml"),
        ("nvmlDeviceGetName", {"set": {}}, "no key set; there are"),
        ("nvmlDeviceGetName", {"why_not": "x", "slow": "y"}, "has nothing but its why_not"),
        ("nvmlDeviceGetName", {"identifier": {"name": "nickname"}}, "no kind of identifier nickname"),
        ("nvmlDeviceGetClockInfo", {"sets": {"type": "enums"}}, "'enums' is no set"),
        ("nvmlDeviceGetClockInfo", {"sets": {"type": ["0-x"]}}, "'0-x' is neither a number nor a range"),
        ("nvmlDeviceGetNvLinkVersion", {"sets": {"link": "links"}}, "nvmlDeviceGetNvLinkState is not asked before it"),
        ("nvmlDeviceGetAccountingStats", {"sets": {"pid": {"each": ["nvmlDeviceGetAccountingPids.pids"]}}}, "is not asked before it"),
    ],
)
def test_a_wrong_entry_is_named(name: str, entry: dict[str, Any], said: str) -> None:
    with pytest.raises(TableError, match=re.escape(said)):
        getters.read({"format": 1, "functions": {name: entry}})
    with pytest.raises(TableError, match="format 2; this reader takes 1"):
        getters.read({"format": 2, "functions": {}})


def test_a_function_is_of_a_gpu_where_it_takes_a_device() -> None:
    assert asking.is_of_gpu("nvmlVgpuTypeGetMaxInstances")
    assert not asking.is_of_gpu("nvmlVgpuTypeGetClass")
