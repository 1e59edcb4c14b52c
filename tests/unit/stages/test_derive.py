"""Derive: a capture's readings as a profile; every leaf is accounted for."""

from __future__ import annotations

import pytest

from harness.stages import derive, derive_node
from harness.stores import profiles
from harness.tables import drivers
from harness.text import document, transcript
from harness.words.state import State

BOARDS = ["a100-sxm4-40gb-x1_570.148.08", "geforce-gt-1030-x1_470.74", "h100-sxm5-x8_580.105.08", "t4-x1_595.91.07"]


@pytest.fixture(scope="module")
def tree():
    return drivers.load()


@pytest.fixture(scope="module", params=BOARDS)
def board(request, repository):
    text = (repository / "captures" / request.param / "transcript.txt").read_text()
    return request.param, transcript.load(text)


def changed(captured: document.Document, old: str, new: str, count: int = 1) -> document.Document:
    data = captured.to_bytes()
    assert data.count(old.encode()) >= count
    return document.read(data.replace(old.encode(), new.encode()))


def of(repository, name):
    return transcript.load((repository / "captures" / name / "transcript.txt").read_text())


def test_the_committed_profile_is_what_derive_makes_of_the_committed_capture(board, tree, repository):
    name, captured = board
    made = derive.derive(captured, tree.resolve(captured.get("driver_version") or ""), name)
    assert made.text == (repository / "profiles" / f"{name}.yaml").read_text()


def test_every_leaf_of_the_four_boards_is_modelled(board, tree):
    name, captured = board
    made = derive.derive(captured, tree.resolve(captured.get("driver_version") or ""), name)
    assert made.counts["unmodelled"] == 0
    attributes = sum(len(gpu.attributes) for gpu in captured.gpus)
    assert made.counts["elements"] == len(list(captured.root.leaves())) + attributes
    assert sum(made.counts.values()) == 2 * made.counts["elements"]


def test_the_shipped_node_explains_each_of_the_four_boards(board, tree):
    _, captured = board
    assert derive_node.learn(captured, tree.resolve(captured.get("driver_version") or ""), tree) is None


def test_merging_a_derived_profile_gives_each_gpu_its_own_readings(tree, repository):
    captured = of(repository, "h100-sxm5-x8_580.105.08")
    profile = profiles.parse(derive.derive(captured, tree.resolve("580.105.08")).text.encode())
    for index, device in enumerate(profile.devices):
        assert device.values["uuid"] == captured.get(f"gpu[{index}]/uuid")
        assert f"{device.values['thermal.temperature_gpu_c']} C" == captured.get(f"gpu[{index}]/temperature/gpu_temp")
        assert device.values["thermal.tlimit.shutdown_c"] == -8


def test_an_average_that_is_not_available_is_not_filled_from_the_instant_draw(tree, repository):
    profile = profiles.parse(derive.derive(of(repository, "a100-sxm4-40gb-x1_570.148.08"), tree.resolve("570.148.08")).text.encode())
    (device,) = profile.devices
    assert device.values["power.instant_draw_mw"] == 49680
    assert "power.average_draw_mw" not in device.values


def test_deprecated_is_a_state_and_not_available_needs_none(tree, repository):
    profile = profiles.parse(derive.derive(of(repository, "t4-x1_595.91.07"), tree.resolve("595.91.07")).text.encode())
    (device,) = profile.devices
    assert device.states["power.power_state"] is State.DEPRECATED
    assert not [key for key, state in device.states.items() if state is State.NOT_SUPPORTED]


@pytest.mark.parametrize(
    ("old", "new", "key", "state"),
    [
        ("<fan_speed>N/A<", "<fan_speed>GPU is lost<", "fan.speed_percent", State.GPU_LOST),
        ("<compute_mode>Default<", "<compute_mode>Insufficient Permissions<", "compute_mode", State.NO_PERMISSION),
        ("<performance_state>P0<", "<performance_state>N/A<", "performance_state", State.NOT_SUPPORTED),
        ("<egm>disabled<", "<egm>N/A<", "capabilities.egm", State.NOT_SUPPORTED),
        ("<minor_number>0<", "<minor_number>N/A<", "minor_number", State.NOT_SUPPORTED),
        (
            "<clocks_event_reason_sync_boost>Not Active<",
            "<clocks_event_reason_sync_boost>N/A<",
            "clocks_throttle_reasons.sync_boost",
            State.NOT_SUPPORTED,
        ),
    ],
)
def test_a_state_is_said_where_the_key_would_answer_otherwise(tree, repository, old, new, key, state):
    captured = changed(of(repository, "t4-x1_595.91.07"), old, new)
    made = derive.derive(captured, tree.resolve("595.91.07"))
    assert profiles.parse(made.text.encode()).devices[0].states[key] is state
    assert made.counts["unmodelled"] == 0


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("<gpu_temp>33 C<", "<gpu_temp>hot<", "gpu[0]/temperature/gpu_temp"),
        ("<pci_bus>00<", "<pci_bus>01<", "gpu[0]/pci/pci_bus"),
        ("<device_current_link_gen>3<", "<device_current_link_gen>2<", "gpu[0]/pci/pci_gpu_link_info/pcie_gen/device_current_link_gen"),
        ("<display_mode>Requested functionality has been deprecated<", "<display_mode>Enabled<", "gpu[0]/display_mode"),
        ("<compute_mode>Default</compute_mode>", "<compute_mode>Default</compute_mode>\n\t\t<new_thing>7</new_thing>", "gpu[0]/new_thing"),
    ],
)
def test_what_no_key_can_hold_is_counted_with_its_text(tree, repository, old, new, path):
    captured = changed(of(repository, "t4-x1_595.91.07"), old, new)
    made = derive.derive(captured, tree.resolve("595.91.07"))
    assert [(reading.path, reading.text) for reading in made.unmodelled] == [(path, captured.get(path))]
    assert made.unmodelled[0].why


def test_origin_names_the_element_of_every_value(tree, repository):
    profile = profiles.parse(derive.derive(of(repository, "t4-x1_595.91.07"), tree.resolve("595.91.07"), "here").text.encode())
    elements = profile.origin["keys"]
    (device,) = profile.devices
    held = {key for key in (*device.values, *device.states) if key != "index"}
    assert held <= set(elements)
    assert elements["display.mode"] == "gpu/display_attached"
    assert profile.origin["capture"] == "here"


def test_an_unseen_version_is_derived_by_the_nearest_node_and_says_so(tree, repository):
    captured = changed(of(repository, "t4-x1_595.91.07"), "595.91.07</driver_version>", "595.99</driver_version>")
    made = derive.derive(captured, tree.resolve("595.99"))
    assert profiles.parse(made.text.encode()).origin["layout"] == "595.91.07 (assumed)"


def test_processes_keep_order_type_and_memory(tree, repository):
    profile = profiles.parse(derive.derive(of(repository, "geforce-gt-1030-x1_470.74"), tree.resolve("470.74")).text.encode())
    processes = profile.devices[0].values["processes"]
    assert [process["pid"] for process in processes[:3]] == [607, 746, 750]
    assert processes[0] == {"pid": 607, "type": "G", "name": processes[0]["name"], "used_memory_mib": 547}


def test_a_list_that_is_not_available_differs_from_an_empty_one(tree, repository):
    captured = changed(
        of(repository, "t4-x1_595.91.07"), "<accounted_processes>\n\t\t</accounted_processes>", "<accounted_processes>N/A</accounted_processes>"
    )
    device = profiles.parse(derive.derive(captured, tree.resolve("595.91.07")).text.encode()).devices[0]
    assert "accounting.terminated" not in device.values
    assert device.states["accounting.terminated"] is State.NOT_SUPPORTED


def test_a_hidden_reading_is_a_state_of_its_own_and_leaves_the_other_members_of_its_struct(tree, repository):
    captured = of(repository, "geforce-gt-1030-x1_470.74")
    device_id = captured.get("gpu[0]/pci/pci_device_id")
    made = derive.derive(changed(captured, f"<pci_device_id>{device_id}<", "<pci_device_id>[REDACTED]<"), tree.resolve("470.74"))
    (device,) = profiles.parse(made.text.encode()).devices
    assert device.states["pci.device_id"] is State.REDACTED
    assert "pci.device_id" not in device.values
    assert str(device.values["pci.bus_id"]).upper() in str(captured.get("gpu[0]/pci/pci_bus_id"))
    assert made.unmodelled == ()
