"""Layouts, changes to them, and the changes between two of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tables import changes, differ, layout
from harness.tables.layout import Element, Predicate
from harness.words.errors import InputError


def tree(*children: Element) -> Element:
    return Element("root", children=children)


def test_predicates_are_a_closed_set():
    for text in ("arch>=ampere", "arch<turing", "arch=turing", "answered(thermal.tlimit.margin_c)", "!answered(a.b)", "mode(ecc)"):
        assert str(Predicate.parse(text, "x")) == text
    for text in ("arch>ampere", "driver>=550", "answered()", "ecc", "arch>=ampere and mode(ecc)"):
        with pytest.raises(InputError):
            Predicate.parse(text, "x")


def test_a_typo_in_an_architecture_names_the_nearest():
    with pytest.raises(InputError, match="ampere"):
        Predicate.parse("arch>=amper", "x")


@pytest.mark.parametrize(
    ("text", "architecture", "holds"),
    [("arch<turing", None, True), ("arch>=turing", None, False), ("arch>=ampere", 7, True), ("arch=turing", 6, True), ("arch=turing", 7, False),
     ("arch>=hopper", 0xFFFFFFFF, True), ("arch<turing", 5, True)],
)  # fmt: skip
def test_architectures_compare_by_age_and_an_unanswered_one_is_the_oldest(text, architecture, holds):
    assert Predicate.parse(text, "x").holds_for(architecture) is holds


def test_an_unknown_key_of_an_element_names_the_nearest():
    with pytest.raises(InputError, match="'collapse'"):
        layout.parse_element({"a": {"colapse": "x"}}, "node.yaml:3")


def test_changes_are_applied_in_order():
    root = tree(Element("a", row="a"), Element("b", children=(Element("c", row="c"),)))
    spec = [
        {"rename": "a", "to": "z"},
        {"add": "b", "after": "c", "element": {"d": "d"}},
        {"add": "", "after": None, "element": {"first": "f"}},
        {"move": "z", "after": "b"},
        {"remove": "b/c"},
    ]
    done = changes.apply(root, spec, "x")
    assert [path for path, _ in done.walk()] == ["root", "root/first", "root/b", "root/b/d", "root/z"]


@pytest.mark.parametrize(
    "spec",
    [{"remove": "nope"}, {"add": "a/b", "element": {"c": "c"}}, {"add": "", "after": "nope", "element": {"c": "c"}},
     {"add": "", "element": {"a": "a"}}, {"drop": "a"}, {"remove": "a", "rename": "a", "to": "b"}],
)  # fmt: skip
def test_a_change_that_does_not_fit_is_refused(spec):
    with pytest.raises(InputError):
        changes.apply(tree(Element("a", row="a")), [spec], "node.yaml:1")


def test_a_rename_is_told_from_a_removal_by_its_row():
    old, new = tree(Element("power_limit", row="limit")), tree(Element("requested_power_limit", row="limit"))
    assert differ.difference(old, new) == [{"rename": "power_limit", "to": "requested_power_limit"}]


NAMES = st.sampled_from("abcdefgh")
ELEMENTS = st.recursive(
    st.builds(Element, NAMES, row=st.sampled_from(["r1", "r2", "r3"])),
    lambda inner: st.builds(
        lambda name, kids: Element(name, children=tuple({kid.name: kid for kid in kids}.values())), NAMES, st.lists(inner, min_size=1, max_size=5)
    ),
    max_leaves=12,
)
TREES = st.lists(ELEMENTS, max_size=6).map(lambda kids: tree(*{kid.name: kid for kid in kids}.values()))


@given(TREES, TREES)
def test_the_difference_of_two_layouts_turns_one_into_the_other(old, new):
    assert changes.apply(old, differ.difference(old, new), "x") == new


@given(TREES)
def test_an_element_is_read_back_from_its_mapping(root):
    assert layout.parse_element(layout.dump_element(root), "x") == root


def test_equal_layouts_have_no_difference():
    root = tree(Element("a", row="a"), Element("b", children=(Element("c", row="c", when=Predicate.parse("arch>=ampere", "x")),)))
    assert differ.difference(root, root) == []
