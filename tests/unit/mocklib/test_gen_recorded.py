"""What the generator says of each parameter to recorded answers, and where the library looks for one."""

from __future__ import annotations

import pytest

from mocklib.gen.arguments import arguments_of
from mocklib.gen.header import Function, Header, parse
from mocklib.gen.recorded import lookup, parameters

TEXT = """
typedef enum nvmlReturn_enum { NVML_SUCCESS = 0, NVML_ERROR_UNKNOWN = 999 } nvmlReturn_t;
typedef struct nvmlDevice_st* nvmlDevice_t;
typedef struct nvmlUnit_st* nvmlUnit_t;
typedef struct { unsigned int version; unsigned int used; } nvmlThing_v1_t;
nvmlReturn_t nvmlDeviceGetSet(nvmlDevice_t device, unsigned int cpuSetSize, unsigned long *cpuSet);
nvmlReturn_t nvmlDeviceGetStates(nvmlDevice_t device, int *states, unsigned int size);
nvmlReturn_t nvmlDeviceGetText(nvmlDevice_t device, char *text, unsigned int size, int *kind);
nvmlReturn_t nvmlDeviceGetLong(nvmlDevice_t device, char *text);
nvmlReturn_t nvmlDeviceGetList(nvmlDevice_t device, unsigned int *itemCount, int *items);
nvmlReturn_t nvmlDeviceGetBytes(nvmlDevice_t device, int *data, unsigned int *bufferSize);
nvmlReturn_t nvmlDeviceGetThing(nvmlDevice_t device, nvmlThing_v1_t *thing);
nvmlReturn_t nvmlDeviceGetPair(nvmlDevice_t device1, nvmlDevice_t device2, unsigned int kind, int *word);
nvmlReturn_t nvmlUnitFind(const char *name, nvmlUnit_t *unit);
nvmlReturn_t nvmlShutdown(void);
"""
SOURCE = "#define nvmlThing_v1 NVML_STRUCT_VERSION(Thing, 1)\n"


@pytest.fixture(scope="module")
def header() -> Header:
    """A small header, parsed."""
    return parse(TEXT, SOURCE)


def of(header: Header, name: str) -> list[tuple[str, str, str]]:
    """What each parameter is, what stands beside it, and its size, as the C says it."""
    parts = [text.strip("{}").split(", ") for text in parameters(header.functions[name], header)]
    return [(kind.removeprefix("NVP_IS_"), beside, size) for kind, beside, _, _, size in parts]


NO = "NVP_NO_PARAMETER"


@pytest.mark.parametrize(
    ("name", "position", "said"),
    [
        ("nvmlDeviceGetSet", 2, ("ARRAY", "1", "sizeof(unsigned long)")),
        ("nvmlDeviceGetStates", 1, ("ARRAY", "2", "1")),
        ("nvmlDeviceGetText", 1, ("TEXT", "2", "1")),
        ("nvmlDeviceGetText", 3, ("PLACE", NO, "sizeof(int)")),
        ("nvmlDeviceGetLong", 1, ("TEXT", NO, "64")),
        ("nvmlDeviceGetList", 1, ("COUNT", NO, "sizeof(unsigned int)")),
        ("nvmlDeviceGetList", 2, ("LIST", "1", "sizeof(int)")),
        ("nvmlDeviceGetBytes", 1, ("LIST", "2", "1")),
        ("nvmlDeviceGetThing", 1, ("WORDED", NO, "sizeof(nvmlThing_v1_t)")),
        ("nvmlDeviceGetThing", 0, ("VALUE", NO, "0")),
        ("nvmlUnitFind", 0, ("READ_TEXT", NO, "0")),
    ],
)
def test_a_parameter_says_what_it_holds_and_what_says_its_size(header: Header, name: str, position: int, said: tuple[str, str, str]) -> None:
    assert of(header, name)[position] == said


def block(header: Header, function: Function) -> str:
    """The block that asks the image."""
    return lookup(function, arguments_of(function, header))


def test_handles_and_pointers_are_looked_at_before_the_image_is_asked(header: Header) -> None:
    pair = block(header, header.functions["nvmlDeviceGetPair"])
    assert "if (nvp_asked0 != NULL && nvp_asked1 != NULL && word != NULL)" in pair
    assert "nvp_given[] = {(nvp_asked0->record - 1), (nvp_asked1->record - 1), (uint64_t)kind, (uint64_t)(uintptr_t)word}" in pair
    assert "if (nvp_initialised() && name != NULL && unit != NULL)" in block(header, header.functions["nvmlUnitFind"])


def test_what_begins_and_ends_a_recording_asks_for_none(header: Header) -> None:
    assert block(header, header.functions["nvmlShutdown"]) == ""
