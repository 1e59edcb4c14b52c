"""What is no capture is refused with one line that says what it is, where, and what to do."""

from __future__ import annotations

import re

import pytest

from harness.text import document
from harness.words.errors import EXIT_INPUT, InputError
from tests.unit.text import samples


def refusal(data: bytes | str) -> str:
    with pytest.raises(InputError) as raised:
        document.read(data.encode() if isinstance(data, str) else data, "q.xml")
    message = str(raised.value)
    assert raised.value.exit_status == EXIT_INPUT
    assert "\n" not in message
    assert message.startswith("q.xml")
    return message


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_an_empty_file_is_called_empty(data):
    assert "q.xml: empty" in refusal(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n",
            r"NVML init failed \(driver/library version mismatch\)",
        ),
        ("Failed to initialize NVML: Driver Not Loaded\n", r"NVML init failed \(driver not loaded\)"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure ...\n", "found no running driver"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", "did not find libnvidia-ml.so library"),
        ("bash: nvidia-smi: command not found\n", "not installed"),
        ("No devices were found\n", "found no device"),
        ("Unable to determine the device handle for GPU 0000:04:00.0: Unknown Error\n", "no device handle for GPU 0000:04:00.0"),
        (samples.LIST, "-L` list"),
        ("==============NVSMI LOG==============\n\nTimestamp : x\n", "-q` text"),
        ("+-----------------------------+\n| NVIDIA-SMI 550 |\n", "table"),
        ("<html>\n<body>404</body></html>", "<html>"),
        ("index, name\n0, A100\n", "it starts 'index, name'"),
        ("\x7fELF\x02\n", r'it starts "\\u007fELF\\x02"'),
    ],
)
def test_what_it_is_instead_is_named(text, said):
    message = refusal(text)
    assert "not an nvidia-smi capture" in message
    assert re.search(said, message)


def test_a_file_cut_off_names_the_block_and_the_line():
    lines = samples.query(2).split("\n")
    message = refusal("\n".join(lines[:12]) + "\n\t\t<uui")
    assert re.match(r"q\.xml:13: truncated: ends inside <gpu id=\"00000000:01:00\.0\">, line 13;", message)


@pytest.mark.parametrize("kept", range(3, 60))
def test_a_file_cut_off_after_any_line_is_truncated(kept):
    lines = samples.query(2).split("\n")
    assert "truncated" in refusal("\n".join(lines[:kept]))


@pytest.mark.parametrize("text", ['<?xml version="1.0" ?>\n', '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYS'])
def test_a_file_cut_off_before_the_root_is_truncated(text):
    assert "truncated: ends before <nvidia_smi_log>" in refusal(text)


def test_a_file_that_is_too_large_says_its_size(monkeypatch):
    monkeypatch.setattr(document, "MAX_BYTES", 1000)
    assert re.search(r"too large: [0-9]+ bytes, the limit is 1000", refusal(samples.query()))


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE nvidia_smi_log SYSTEM "x.dtd" [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_entity_declarations_are_refused_with_their_line(declaration):
    text = samples.query().replace('<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">', declaration)
    assert refusal(text).startswith("q.xml:2: entity declarations")


def test_deep_nesting_is_refused_with_its_line():
    text = samples.query().replace("\t<timestamp>", "<a>" * 100 + "</a>" * 100 + "\n\t<timestamp>")
    assert refusal(text).startswith("q.xml:4: <a> is nested more than 64 levels deep")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("</gpu_temp>", "</gpu_tmp>", r"q\.xml:19: </gpu_tmp> where </gpu_temp> of line 19 is due"),
        ("</temperature>", "", r"q\.xml:32: </gpu> where </temperature> of line 18 is due"),
        ("</nvidia_smi_log>\n", "</nvidia_smi_log>\n<nvidia_smi_log>\n</nvidia_smi_log>\n", r"q\.xml:\d+: a second <nvidia_smi_log>"),
        ("</nvidia_smi_log>\n", "</nvidia_smi_log>\n</gpu>\n", r"q\.xml:\d+: </gpu> closes nothing"),
        ("<nvidia_smi_log>", "<log><nvidia_smi_log>", r"q\.xml:3: the root element is <log>"),
        ("<gpu_temp>31 C<", "<gpu_temp>31 C </b> x<", r"q\.xml:19: "),
        ('<gpu id="00000000:01:00.0">', '<gpu id="1" id="2">', r"q\.xml:7: <gpu> has an attribute twice"),
        ("<gpu_temp>31 C</gpu_temp>", "<gpu_temp>31 &#0; C</gpu_temp>", r"q\.xml:19: not well-formed XML"),
        ("<temperature>", "<temperature" + "".join(f" a{number}='1'" for number in range(65)) + ">", r"q\.xml:18: <temperature> has 65 attributes"),
        ("<serial>", "<sér>", r"q\.xml:12: "),
    ],
)
def test_text_that_is_no_tree_is_refused_with_the_line(old, new, said):
    assert re.match(said, refusal(samples.query().replace(old, new)))


def test_utf16_is_named_with_the_command_that_converts_it():
    assert "iconv" in refusal(samples.query().encode("utf-16"))


def test_scanner_and_parser_must_agree_on_every_leaf(monkeypatch):
    from harness.text import scanner

    whole = scanner.scan

    def mistaken(text, name="capture"):
        found = whole(text, name)
        found.root.find("gpu[0]/temperature/gpu_temp").text = "32 C"
        return found

    monkeypatch.setattr(scanner, "scan", mistaken)
    assert refusal(samples.query()).startswith("q.xml:19: line scanner and XML parser disagree on the text of <gpu_temp>")


def test_more_gpus_than_a_node_has_are_refused(monkeypatch):
    monkeypatch.setattr(document, "MAX_GPUS", 1)
    assert "more than 1 <gpu> blocks" in refusal(samples.query(2))


def test_more_tags_than_a_capture_has_are_refused(monkeypatch):
    from harness.text import scanner

    monkeypatch.setattr(scanner, "MAX_TAGS", 20)
    assert "more than 20 tags" in refusal(samples.query())
