"""The walk of a layout: presence, repeats, collapses, states, escapes and the trace, on a small layout and answers made here."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from harness.stages.render.reading import Place, Reading
from harness.stages.render.views import listing, outline, query
from harness.tables import rows
from harness.tables.drivers import Driver
from harness.tables.layout import parse_element
from harness.text import document
from harness.words.version import DriverVersion

VERSION = DriverVersion("1.2")
TEXTS = {3: "N/A", 26: "Requested functionality has been deprecated"}
ROWS = {
    "driver_version": "string",
    "bus_id": "string",
    "name": "string",
    "uuid": "string",
    "fan": "percent",
    "architecture": "architecture",
    "mem": "mhz",
    "graphics": "mhz",
    "clocks": "count",
    "pid": "count",
    "process": "string",
}


@pytest.fixture(autouse=True)
def small_rows(monkeypatch):
    routes = {name: rows.Route("call", f"nvml{name}", basis="assumed" if name == "fan" else "public") for name in ROWS}
    table = {name: rows.Row(name, name, form, name, routes[name]) for name, form in ROWS.items()}
    monkeypatch.setattr(rows, "load", lambda *_: table)


class Answers:
    """Answers by row, then by GPU; lists by name."""

    def __init__(self, answers, lists):
        self.answers = answers
        self.lists = lists

    def read(self, row, place):
        if row in place.entry:
            return Reading(0, place.entry[row])
        found = self.answers.get(row, 3)
        found = found[place.index] if isinstance(found, list) else found
        return found if isinstance(found, Reading) else Reading(found) if isinstance(found, int) else Reading(0, found)

    def entries(self, repeat, place):
        if repeat == "lost_gpus":
            return [Place(None, index, {"index": index}) for index in self.lists.get("lost_gpus", ())]
        if repeat == "gpus":
            return [Place(device=number, index=number) for number in range(self.lists.get("gpus", 1))]
        return [Place(place.device, place.index, entry) for entry in self.lists.get(repeat, [])]

    def left_out(self, repeat, place):
        return False

    def asked(self, row):
        return f"nvml{row}"


def driver(elements, **more):
    layout = parse_element({"nvidia_smi_log": {"elements": elements}}, "test")
    routes = {name: row.route for name, row in rows.load().items() if row.route is not None}
    settled = {"texts": TEXTS, "escapes": {"name": "none"}, **more}
    return Driver(
        version=VERSION,
        node=VERSION,
        assumed=False,
        layout=layout,
        dtd="nvsmi_device_v12.dtd",
        declaration='<?xml version="1.0" ?>',
        texts=settled["texts"],
        field_ids={},
        slots={},
        routes=routes,
        forms={},
        escapes=settled["escapes"],
    )


def gpu(*elements):
    return [
        {"driver_version": "driver_version"},
        {"gpu": {"repeat": "gpus", "attributes": {"id": "bus_id"}, "blank": True, "elements": list(elements)}},
    ]


def lines(made):
    return made.data.decode().splitlines()


def body(elements, answers, lists=None, **more):
    made = query(driver(gpu(*elements), **more), Answers({"bus_id": "00:1", "driver_version": "1.2", **answers}, lists or {}))
    return [line.strip() for line in lines(made)[5:-3]]


def test_the_frame_is_nvidia_smis_own():
    made = query(driver(gpu({"fan_speed": "fan"})), Answers({"bus_id": "00:1", "driver_version": "1.2", "fan": Reading(0, 30)}, {}))
    assert made.data == (
        b'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n\t<driver_version>1.2</driver_version>\n'
        b'\t<gpu id="00:1">\n\t\t<fan_speed>30 %</fan_speed>\n\t</gpu>\n\n</nvidia_smi_log>\n'
    )
    assert document.read(made.data).kind == document.OWN


def test_each_gpu_answers_for_itself():
    made = query(driver(gpu({"fan_speed": "fan"})), Answers({"bus_id": ["a", "b"], "fan": [Reading(0, 1), 3]}, {"gpus": 2}))
    assert [line.strip() for line in lines(made) if "fan" in line] == ["<fan_speed>1 %</fan_speed>", "<fan_speed>N/A</fan_speed>"]


@pytest.mark.parametrize(("code", "text"), [(3, "N/A"), (26, "Requested functionality has been deprecated"), (999, "")])
def test_a_code_prints_the_drivers_text_and_an_unknown_one_an_empty_body(code, text):
    assert body([{"fan_speed": "fan"}], {"fan": code}) == [f"<fan_speed>{text}</fan_speed>"]


def test_zero_is_a_value_and_no_state():
    assert body([{"fan_speed": "fan"}], {"fan": Reading(0, 0)}) == ["<fan_speed>0 %</fan_speed>"]


def test_names_are_escaped_unless_the_driver_says_none():
    found = body([{"product_name": "name"}, {"process_name": "process"}], {"name": 'A & "B"', "process": "<a & 'b'>"})
    assert found == ['<product_name>A & "B"</product_name>', "<process_name>&lt;a &amp; &apos;b&apos;&gt;</process_name>"]


@pytest.mark.parametrize(("code", "present"), [(0, True), (4, True), (3, False)])
def test_presence_may_hang_on_any_answer_but_not_supported(code, present):
    fan = Reading(0, 1) if code == 0 else code
    assert bool(body([{"x": {"row": "name", "when": "supported(fan)"}}], {"fan": fan, "name": "n"})) is present
    assert bool(body([{"x": {"row": "name", "when": "!supported(fan)"}}], {"fan": fan, "name": "n"})) is not present


@pytest.mark.parametrize(("when", "present"), [("answered(fan)", True), ("!answered(fan)", False)])
def test_presence_may_hang_on_an_answer(when, present):
    assert bool(body([{"x": {"row": "name", "when": when}}], {"fan": Reading(0, 0), "name": "n"})) is present
    assert bool(body([{"x": {"row": "name", "when": when}}], {"fan": 3, "name": "n"})) is not present


@pytest.mark.parametrize(("when", "present"), [("arch>=ampere", True), ("arch<ampere", False), ("arch>=hopper", False)])
def test_presence_may_hang_on_the_architecture(when, present):
    assert bool(body([{"x": {"row": "name", "when": when}}], {"architecture": Reading(0, 8), "name": "n"})) is present


def test_a_board_without_architecture_counts_as_older_than_all():
    assert body([{"x": {"row": "name", "when": "arch>=kepler"}}], {"architecture": 3, "name": "n"}) == []


CLOCKS = {
    "supported_clocks": {
        "collapse": "clocks",
        "elements": [
            {"supported_mem_clock": {"repeat": "memory_clocks", "elements": [
                {"value": "mem"}, {"supported_graphics_clock": {"repeat": "graphics_clocks", "row": "graphics"}}]}}
        ],
    }
}  # fmt: skip


def test_lists_repeat_their_element_for_each_entry():
    found = body([CLOCKS], {"clocks": Reading(0, 1)}, {"memory_clocks": [{"mem": 405}], "graphics_clocks": [{"graphics": 2}, {"graphics": 1}]})
    assert found[2:5] == [
        "<value>405 MHz</value>",
        "<supported_graphics_clock>2 MHz</supported_graphics_clock>",
        "<supported_graphics_clock>1 MHz</supported_graphics_clock>",
    ]


def test_a_collapsed_element_is_one_line_with_the_state():
    assert body([CLOCKS], {"clocks": 3}) == ["<supported_clocks>N/A</supported_clocks>"]


def test_an_empty_list_is_an_open_and_a_close_line():
    processes = {"processes": {"elements": [{"process_info": {"repeat": "processes", "elements": [{"pid": "pid"}]}}]}}
    assert body([processes], {}) == ["<processes>", "</processes>"]


def test_an_empty_list_with_a_word_prints_the_word_on_its_own_line():
    devices = {"mig_devices": {"none": "None"}}
    assert body([devices], {}) == ["<mig_devices>", "None", "</mig_devices>"]


def test_the_trace_names_element_row_call_code_and_basis():
    made = query(driver(gpu({"fan_speed": "fan"})), Answers({"bus_id": ["a", "b"], "fan": [Reading(0, 1), 3]}, {"gpus": 2}))
    traced = {entry.path: (entry.row, entry.route, entry.code, entry.basis) for entry in made.trace}
    assert traced["gpu[1]/fan_speed"] == ("fan", "nvmlfan", 3, "assumed")
    assert traced["gpu[0]/@id"] == ("bus_id", "nvmlbus_id", 0, "public")
    assert len(traced) == 5


def test_an_element_no_row_explains_comes_from_the_capture_or_not_at_all():
    elements = gpu({"strange": {}}, {"fan_speed": "fan"})
    source = Answers({"fan": Reading(0, 1)}, {})
    assert b"strange" not in query(driver(elements), source).data
    made = query(driver(elements), source, {"gpu[0]/strange": ("7 Q", "line")})
    assert b"\t\t<strange>7 Q</strange>\n\t\t<fan_speed>" in made.data
    assert "gpu[0]/strange" not in {entry.path for entry in made.trace}


def test_a_list_no_row_explains_is_printed_with_as_many_entries_as_are_kept():
    devices = {
        "mig_devices": {"none": "None", "elements": [{"mig_device": {"elements": [{"index": {}}, {"memory": {"elements": [{"total": {}}]}}]}}]}
    }
    kept = {f"gpu[0]/mig_devices/mig_device[{n}]/{part}": (f"{n}", "line") for n in (0, 1) for part in ("index", "memory/total")}
    made = query(driver(gpu(devices)), Answers({"bus_id": "00:1"}, {"gpus": 2}), kept).data.decode()
    assert made.count("<mig_device>") == 2
    assert "<index>1</index>\n\t\t\t\t<memory>\n\t\t\t\t\t<total>1</total>" in made
    assert made.count("None") == 1


def test_an_attribute_no_row_explains_is_kept():
    made = query(driver(gpu({"fan_speed": "fan"})), Answers({"bus_id": "00:1"}, {}), {"gpu[0]/@id": ("0000:00:1", "line")})
    assert b'<gpu id="0000:00:1">' in made.data


def test_the_listing_is_one_line_a_gpu():
    made = listing(driver(gpu()), Answers({"name": ["A", "B"], "uuid": ["GPU-1", 3]}, {"gpus": 2}))
    assert made.data == b"GPU 0: A (UUID: GPU-1)\nGPU 1: B (UUID: N/A)\n"
    assert [entry.path for entry in made.trace][:2] == ["gpu[0]/name", "gpu[0]/uuid"]


def test_the_listing_names_a_gpu_that_it_cannot_ask_by_its_address_else_by_its_index():
    answers = {"name": [15, "B"], "uuid": "U", "gpu.address": ["0000:01:00.0", "", "0000:03:00.0", 6], "gpu.handle": [0, 0, 15, 13]}
    source = Answers(answers, {"gpus": 2, "lost_gpus": [2, 3]})
    known = replace(driver(gpu()), texts={15: "GPU is lost", 999: "Unknown Error"}, handle_texts={15: "GPU is lost.  Reboot\n\n"})
    assert listing(known, source).data.decode() == (
        "Unable to determine the product name for gpu 0000:01:00.0: GPU is lost\nGPU 1: B (UUID: U)\n"
        "Unable to determine the device handle for gpu 0000:03:00.0: GPU is lost.  Reboot\n\n\n"
        "Unable to determine the device handle for gpu 3: Unknown Error\n"
    )
    assert b"kept line\n" in listing(known, source, {"error[1]": ("kept line", "line")}).data


def test_bytes_that_are_not_utf_8_pass_through():
    made = listing(driver(gpu()), Answers({"name": "A\uf7ff", "uuid": "U"}, {}))
    assert made.data == b"GPU 0: A\xff (UUID: U)\n"


@pytest.mark.parametrize(
    ("codes", "printed"), [((4, 15), "Unable: 3: GPU is lost\n"), ((6, 15), "Unable: 0000:02:00.0: Unknown Error\n"), ((4, 4), "")]
)
def test_the_text_ends_at_the_first_gpu_whose_handle_is_not_given_unless_that_is_passed_over(codes, printed):
    lost = [Place(None, 2, {"index": 2}), Place(None, 3, {"index": 3})]
    answers = Answers({"driver_version": "1.2", "gpu.handle": [0, 0, *codes], "gpu.address": ["", "", "0000:02:00.0", 6]}, {})
    entries = {"lost_gpus": lost}
    source = SimpleNamespace(read=answers.read, asked=answers.asked, entries=lambda repeat, place: entries.get(repeat, []))
    known = replace(
        driver([{"driver_version": "driver_version"}]),
        texts={15: "GPU is lost", 999: "Unknown Error"},
        handle_texts={15: "GPU is lost"},
        handle_ends={"sentence": "Unable: ", "passes": [4]},
    )
    made = outline(known, source).data.decode()
    assert made == printed or (not printed and "NVSMI LOG" in made)
