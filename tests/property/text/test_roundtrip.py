"""Random documents and random damage: the same bytes come back, or one clear refusal does."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.text import document, listing, outline, outline_writer, scrub, transcript
from harness.text.model import BLOCK, FULL, LINE, MINIMAL, PLAIN, TREE, Layout, Node, block, empty, leaf, tree
from harness.words.errors import InputError
from tests.unit.text import samples

FEW = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

tags = st.sampled_from(["a", "b", "c", "serial", "gpu_temp", "process_info", "value", "supported_mem_clock", "x.y-z"])
values = st.one_of(
    st.sampled_from(
        ["N/A", "", "0", "31 C", "Unknown Error", "GPU is lost", "Requested functionality has been deprecated", "A & B", "~", "[x]", "1 | 2", "{"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn"), include_characters="\t"), max_size=8),
)
lines = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters="<&>\"'\x7f\x85\xa0"), min_size=1, max_size=9)
clocks = st.lists(st.integers(0, 9999), min_size=1, max_size=12).map(
    lambda numbers: tree(
        "supported_mem_clock", [leaf("value", "405 MHz"), *(leaf("supported_graphics_clock", f"{number} MHz") for number in numbers)]
    )
)
leaves = st.one_of(
    st.builds(leaf, tags, values, st.sampled_from([FULL, MINIMAL])),
    st.builds(block, tags, lines),
    st.builds(empty, tags),
    clocks,
)
attributes = st.dictionaries(st.sampled_from(["id", "unit"]), st.text("abc01:. |", max_size=6), max_size=2)
nodes = st.recursive(leaves, lambda inner: st.builds(tree, tags, st.lists(inner, min_size=1, max_size=5), attributes), max_leaves=6)
gpus = st.builds(
    lambda children, name: tree("gpu", children, {"id": name}), st.lists(nodes, min_size=1, max_size=5), st.sampled_from(["00:01.0", "00:02.0", ""])
)
layouts = st.builds(
    Layout,
    unit=st.sampled_from(["\t", "  ", "    "]),
    eol=st.sampled_from(["\n", "\r\n"]),
    declaration=st.sampled_from(['<?xml version="1.0" ?>', None, '<?xml version="1.0" encoding="UTF-8"?>']),
    gap=st.booleans(),
    end=st.integers(0, 3),
    bom=st.booleans(),
)
documents = st.builds(
    lambda before, blocks, after, layout, doctype: document.Document(tree("nvidia_smi_log", [*before, *blocks, *after]), layout, doctype),
    st.lists(leaves, min_size=1, max_size=3),
    st.lists(gpus, max_size=4),
    st.lists(leaves, max_size=2),
    layouts,
    st.sampled_from([None, "nvsmi_device_v12.dtd"]),
)


def one_line(error: InputError) -> None:
    assert "\n" not in str(error)


def normal(node: Node) -> Node:
    """``node`` as a reader gives it: the escape style is FULL where nothing tells it from the others."""
    special = any(char in (node.text or "") for char in "&<>\"'")
    children = [normal(child) for child in node.children]
    style = node.escape if special and node.form not in {BLOCK, TREE} else FULL
    if style == MINIMAL and not any(char in (node.text or "") for char in "\"'"):
        style = FULL
    return Node(node.tag, node.text, children, node.attributes, node.form, style)


labels = st.sampled_from(["Product Name", "GPU UUID", "Name", "GPU Memory Power Readings ", "HW Slowdown", "Process ID", "T.Limit (x)", "A", "gpu 0"])
texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn"), include_characters="\t"), max_size=8)
rows = st.builds(lambda label, text: Node(label.strip(), text), labels, texts)
sections = st.recursive(
    rows,
    lambda inner: st.builds(
        lambda label, text, children: Node(label if text is None else label.strip(), text, children, form=TREE if text is None else LINE),
        labels,
        st.none() | texts,
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=8,
)
boards = st.builds(
    lambda children, bus: tree("gpu", children, {"GPU": f"00000000:{bus:02X}:00.0"}), st.lists(sections, min_size=1, max_size=5), st.integers(0, 255)
)
outline_layouts = st.builds(
    outline_writer.OutlineLayout,
    column=st.integers(0, 80),
    prefix=st.sampled_from(["", "  ", "# "]),
    unit=st.sampled_from(["    ", "  ", "\t"]),
    before=st.integers(0, 3),
    eol=st.sampled_from(["\n", "\r\n"]),
    end=st.integers(0, 3),
    bom=st.booleans(),
)


@FEW
@given(st.lists(rows, min_size=1, max_size=3), st.lists(boards, max_size=3), outline_layouts)
def test_a_written_outline_is_read_as_it_was_built(head, gpus, layout):
    root = Node("", children=[*head, *gpus], form=TREE)
    outline_writer.space(root)
    data = outline_writer.write(root, layout).encode()
    found = outline.read(data)
    assert found.to_bytes() == data
    assert list(found.root.leaves()) == list(root.leaves())
    assert transcript.load(transcript.dump(found)) == found


@FEW
@given(st.data())
def test_damaged_outlines_give_the_same_bytes_or_one_clear_line(data):
    text = samples.text(2).encode()
    start = data.draw(st.integers(0, len(text)))
    damaged = text[:start] + data.draw(st.binary(max_size=20)) + text[start + data.draw(st.integers(0, 200)) :]
    try:
        found = outline.read(damaged, "q.txt")
    except InputError as error:
        one_line(error)
        return
    again = transcript.load(transcript.dump(found), "t.txt")
    assert again == found
    assert again.to_bytes() == found.to_bytes() == damaged


@FEW
@given(documents)
def test_a_built_document_is_read_as_it_was_built(built):
    data = built.to_bytes()
    found = document.read(data)
    assert found.to_bytes() == data
    ours, theirs = [list(one.root.leaves()) for one in (built, found)]
    assert ours == theirs


@FEW
@given(documents)
def test_a_document_survives_its_transcript(built):
    text = transcript.dump(built)
    again = transcript.load(text)
    assert again == built
    assert transcript.dump(again) == text
    found = document.read(built.to_bytes())
    again = transcript.load(transcript.dump(found))
    assert again == found
    assert again.to_bytes() == built.to_bytes()


@FEW
@given(documents)
def test_what_is_read_is_what_was_built_up_to_escapes_that_look_the_same(built):
    found = document.read(built.to_bytes())
    if not found.verbatim:
        assert _plain(found.root) == _plain(normal(built.root))


def _plain(node: Node) -> Node:
    """``node`` without what layout may shift between element and exception: white space before it, PLAIN against MINIMAL."""
    style = MINIMAL if node.escape == PLAIN else node.escape
    return Node(node.tag, node.text, [_plain(child) for child in node.children], node.attributes, node.form, style)


@st.composite
def damaged(draw: st.DrawFn, text: bytes) -> bytes:
    data = text
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        what = draw(st.integers(0, 3))
        if what == 0:
            data = data[:at] + draw(st.sampled_from(PIECES)) + data[at:]
        elif what == 1:
            data = data[:at] + data[at + draw(st.integers(1, 40)) :]
        elif what == 2:
            data = data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[at:]
        else:
            parts = data.split(b"\n")
            line = draw(st.integers(0, len(parts) - 1))
            parts.insert(draw(st.integers(0, len(parts))), parts[line])
            data = b"\n".join(parts)
    return data


PIECES = [
    *b"< > & \" ' | ~ -- ]]> <!-- --> <!--x--> <![CDATA[a<b]]> &amp; &#65; &#0; &foo; <a> </a> <a/> </gpu> <?pi?> </nvidia_smi_log>".split(b" "),
    *(b"\xff", b"\xef\x9e\x80", b"\n", b"\r", b"\r\n", b"\t", b" ", b"\0", b'<a b="c"/>', b"\xe2\x80\xa8", b"\xef\xbb\xbf"),
]


@FEW
@given(damaged(samples.query(2).encode()))
def test_a_damaged_query_comes_back_or_is_refused_in_one_line(data):
    try:
        found = document.read(data, "q.xml")
    except InputError as error:
        one_line(error)
        return
    assert found.to_bytes() == data
    again = transcript.load(transcript.dump(found))
    assert again == found
    assert again.to_bytes() == data


@FEW
@given(damaged(samples.LIST.encode()))
def test_a_damaged_list_comes_back_or_is_refused_in_one_line(data):
    try:
        found = listing.read(data, "l.txt")
    except InputError as error:
        one_line(error)
        return
    assert found.to_bytes() == data
    assert transcript.load(transcript.dump(found)) == found


@FEW
@given(damaged(transcript.dump(document.read(samples.query(2).encode())).encode()))
def test_a_damaged_transcript_is_loaded_or_refused_in_one_line(data):
    text = data.decode("utf-8", "replace")
    try:
        found = transcript.load(text, "t.txt")
    except InputError as error:
        one_line(error)
        return
    assert transcript.load(transcript.dump(found)) == found


@FEW
@given(st.one_of(damaged(samples.query(2).encode()), damaged(samples.LIST.encode()), st.binary(max_size=200)))
def test_a_scrubbed_text_is_scrubbed_to_itself(data):
    once = scrub.scrub({"x": data}).files
    assert scrub.scrub(once).files == once
    assert scrub.residue(once["x"]) == []
    assert once["x"].count(b"\n") == data.count(b"\n")
