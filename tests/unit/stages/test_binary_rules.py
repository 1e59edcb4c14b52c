"""Rules of kind binary: they excuse presence and name of one element between two releases, never a value, and what they claim is held against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.stages.compare import binary_rules, ruling
from harness.stages.compare.case import CHANGED, INVENTED, MISSING, ORDER, STATE, Case, Counts, Finding, Printed
from harness.stages.compare.rules import BinaryRule, load, of
from harness.stores.workspace import Workspace
from harness.tables.layout import Predicate
from harness.words.errors import InputError

PAIR = ("535.54.03", "535.274.02")
PATH = "gpu/processes/process_info/gpu_instance_id"
LEAVES = {
    "driver_version": "535.274.02",
    "gpu[0]/fan": "N/A",
    "gpu[0]/twin": "N/A",
    "gpu[0]/processes/process_info[0]/pid": "7",
    "gpu[0]/processes/process_info[0]/gpu_instance_id": "1",
    "gpu[1]/fan": "3",
}
PRINTED = Printed(PAIR[1], PAIR[0], leaves=LEAVES, architectures=(7, 6))


def rule(path: str, claim: str, of: str | None = None, when: str | None = None) -> BinaryRule:
    predicate = None if when is None else Predicate.parse(when, "r")
    return BinaryRule(path, "binary", "so it is", place="r:3", versions=PAIR, claim=claim, of=of, when=predicate)


def covers(one: BinaryRule, finding: Finding, printed: Printed = PRINTED) -> bool:
    return any(held.covers(finding) for held in binary_rules.bound([one], printed))


def finding(kind: str, path: str, expected: str | None = None, actual: str | None = None) -> Finding:
    return Finding("0", path, kind, expected, actual)


@pytest.mark.parametrize("kind", [CHANGED, STATE, ORDER, MISSING, INVENTED])
def test_presence_excuses_presence_alone(kind: str):
    assert covers(rule("gpu/fan", "never"), finding(kind, "gpu[0]/fan")) == (kind == MISSING)
    assert covers(rule("gpu/fan", "always"), finding(kind, "gpu[0]/fan")) == (kind == INVENTED)


def test_a_rule_is_of_one_element_and_one_pair():
    missing = finding(MISSING, "gpu[0]/fan")
    assert not covers(rule("gpu/fans", "never"), missing)
    assert not covers(rule("gpu/fan", "never"), missing, replace(PRINTED, origin="535.98"))
    assert not covers(rule("gpu/fan", "never"), missing, replace(PRINTED, version="535.98"))


def test_a_name_that_stands_for_another_reading_must_have_that_readings_text():
    one = rule("gpu/fan", "repeats", of="gpu/twin")
    assert covers(one, finding(STATE, "gpu[0]/fan", "3", "N/A"))
    assert not covers(one, finding(CHANGED, "gpu[0]/fan", "3", "4"))
    assert not covers(one, finding(CHANGED, "gpu[1]/fan", "4", "3"))
    assert not covers(one, finding(MISSING, "gpu[0]/fan", "3"))


def test_a_rule_of_some_architectures_is_of_no_others():
    one = rule("gpu/fan", "never", when="arch>=ampere")
    assert [covers(one, finding(MISSING, f"gpu[{gpu}]/fan")) for gpu in (0, 1, 2)] == [True, False, False]
    assert not covers(rule("fan", "never", when="arch>=ampere"), finding(MISSING, "fan"))


@pytest.mark.parametrize(
    ("one", "against"),
    [
        (rule("gpu/fan", "never"), ["gpu[0]/fan", "gpu[1]/fan"]),
        (rule("gpu/fan", "never", when="arch<ampere"), ["gpu[1]/fan"]),
        (rule("gpu/fans", "never"), []),
        (rule("gpu/twin", "always"), ["gpu[1]/ without it"]),
        (rule("gpu/twin", "always", when="arch>=ampere"), []),
        (rule(PATH, "always"), []),
        (rule("gpu/processes/process_info/type", "always"), ["gpu[0]/processes/process_info[0]/ without it"]),
        (rule("cuda_version", "always"), ["everything without it"]),
        (rule("gpu/fan", "repeats", of="gpu/twin"), ["gpu[1]/fan otherwise than gpu[1]/twin"]),
        (rule("gpu/fan", "repeats", of="gpu/twin", when="arch>=ampere"), []),
    ],
)
def test_a_claim_is_held_against_an_output(one: BinaryRule, against: list[str]):
    assert list(binary_rules.contrary(one, PRINTED)) == against


def case(*elements: str, used: int = 0, printed: Printed | None = PRINTED) -> Case:
    made = Case("a-x1_535.54.03", "own", "smi", PAIR[1], PAIR[1], 1, Counts(), Counts(), "n/a", printed=printed, elements=elements)
    made.ruled = {"r:3": used} if used else {}
    return made


def problem(one: BinaryRule, *cases: Case, captures: tuple[str, ...] = ("a-x1_535.54.03",)) -> str | None:
    (use,) = ruling.uses([one], list(cases), captures, (0, 1))
    return use.problem


def test_an_untrue_rule_fails_the_gate_whatever_it_covers():
    assert "is untrue: 535.274.02 prints gpu[0]/fan" in str(problem(rule("gpu/fan", "never"), case(used=1)))
    assert "is untrue: a-x1_535.54.03, of 535.54.03, has it" in str(problem(rule(PATH, "always"), case(PATH.replace("gpu/", "gpu[0]/"), used=1)))
    assert problem(rule(PATH, "always"), case(used=1)) is None


def test_a_rule_without_work_fails_the_gate_where_all_was_checked():
    assert problem(rule("gpu/none", "never"), case()) == "covers no difference: remove it"
    assert problem(rule("gpu/none", "never"), case(), captures=("a-x1_535.54.03", "b")) is None


def test_a_rule_whose_binary_did_not_run_is_not_judged_and_another_renderer_has_none():
    assert problem(rule("gpu/none", "never"), case(printed=replace(PRINTED, version="550.1", leaves=LEAVES))) is None
    assert ruling.uses([rule("gpu/none", "never")], [case(printed=None)], ("a-x1_535.54.03",), (0, 1)) == []


LINE = "format: 1\nrules:\n  - {{kind: binary, path: gpu/fan, reason: so, {rest}}}\n"
VERSIONS = 'versions: ["535.54.03", "535.274.02"]'


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ('versions: ["535.54.03", "535.54.03"], prints: never', "are one"),
        ('versions: ["535.54.3", "535.54.03"], prints: never', "are one"),
        ('versions: ["535.54.03"], prints: never', "are not the capture's driver and the binary's"),
        ("versions: [535.54, 535.98], prints: never", "are not the capture's driver and the binary's"),
        ('versions: ["535.54.03", "x"], prints: never', "driver version 'x'"),
        (f"{VERSIONS}, prints: alway", "did you mean 'always'"),
        (VERSIONS, "prints None is none of never, always, repeats"),
        (f"{VERSIONS}, prints: repeats", "'of' names the element"),
        (f"{VERSIONS}, prints: never, of: gpu/a", "'of' names the element"),
        (f"{VERSIONS}, prints: never, when: answered(name)", "is no architecture"),
        (f"{VERSIONS}, prints: never, when: arch>=amper", "did you mean 'ampere'"),
        (f"{VERSIONS}, prints: never, captures: [a]", "unknown key 'captures'"),
        (f"{VERSIONS}, prints: never, view: L", "view 'L' is none of q-x, q"),
        (f"{VERSIONS}, prints: never, shown: [a]", "is not two ids"),
        (f"{VERSIONS}, prints: repeats, of: gpu/a, shown: [a, b]", "is not two ids"),
        (f"{VERSIONS}, prints: repeats, of: 'gpu/*'", "not one element"),
        (f"{VERSIONS}, prints: repeats, of: gpu/fan", "is the path itself"),
    ],
)
def test_a_rule_that_says_too_much_is_refused_by_its_line(rest: str, said: str, tmp_path: Path):
    path = tmp_path / "rules.yaml"
    path.write_text(LINE.format(rest=rest))
    with pytest.raises(InputError, match=r"rules\.yaml:3") as caught:
        load(path)
    assert said in str(caught.value)


@pytest.mark.parametrize("path", ["gpu[0]/fan", "gpu/*", "**/fan", "gpu[*]/fan"])
def test_a_rule_of_more_than_one_element_is_refused(path: str, tmp_path: Path):
    (tmp_path / "rules.yaml").write_text(LINE.format(rest=f"{VERSIONS}, prints: never").replace("gpu/fan", f'"{path}"'))
    with pytest.raises(InputError, match="is not one element"):
        load(tmp_path / "rules.yaml")


@pytest.mark.parametrize(
    ("path", "rest", "said"),
    [
        ("gpu/fan_sped", "prints: never", "path 'gpu/fan_sped' is no element of 535.54.03 or 535.274.02 in view q-x (did you mean 'gpu/fan_speed'?)"),
        ("gpu/fan_speed", "prints: never, view: q", "(did you mean 'gpu/Fan Speed'?)"),
        ("gpu/fan_speed", "prints: repeats, of: gpu/fan_sped", "of 'gpu/fan_sped' is no element"),
    ],
)
def test_a_rule_of_an_element_that_neither_driver_has_is_refused(path: str, rest: str, said: str, tmp_path: Path):
    file = tmp_path / "rules.yaml"
    file.write_text(LINE.format(rest=f"{VERSIONS}, {rest}").replace("gpu/fan,", f"{path},"))
    with pytest.raises(InputError, match=r"rules\.yaml:3") as caught:
        of(Workspace(tmp_path), str(file))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("path", "rest"), [("gpu/fan_speed", "prints: never"), ("gpu/@id", "prints: never"), ("gpu/Fan Speed", "prints: never, view: q")]
)
def test_a_rule_of_an_element_that_one_has_is_taken(path: str, rest: str, tmp_path: Path):
    file = tmp_path / "rules.yaml"
    file.write_text(LINE.format(rest=f"{VERSIONS}, {rest}").replace("gpu/fan,", f'"{path}",'))
    (read,) = of(Workspace(tmp_path), str(file))
    assert read.path == path


def test_a_rule_is_read_whole(tmp_path: Path):
    (tmp_path / "rules.yaml").write_text(LINE.format(rest=f"{VERSIONS}, prints: repeats, of: gpu/twin, when: arch>=ampere"))
    (read,) = load(tmp_path / "rules.yaml")
    assert isinstance(read, BinaryRule)
    assert (read.versions, read.claim, read.of, str(read.when)) == (PAIR, "repeats", "gpu/twin", "arch>=ampere")
    assert read.said == "repeats gpu/twin in 535.274.02 (arch>=ampere), against 535.54.03: "


def test_a_rule_is_of_one_view_and_sections_of_it_say_nothing_of_what_they_leave_out():
    one = replace(rule("gpu/fan", "never"), view="q")
    missing = finding(MISSING, "gpu[0]/fan")
    assert not covers(one, missing)
    sections = replace(PRINTED, view="q:ECC", leaves={"gpu[0]/twin": "1"})
    assert covers(one, missing, replace(PRINTED, view="q"))
    assert covers(one, missing, sections)
    always = replace(rule("gpu/fan", "always"), view="q")
    assert list(binary_rules.contrary(always, sections)) == []
    assert list(binary_rules.contrary(always, replace(sections, view="q"))) == ["gpu[0]/ without it"]
    assert problem(one, case(used=1)) is None
    assert "is untrue" in str(problem(one, case(used=1, printed=replace(PRINTED, view="q"))))


def test_two_captures_that_show_it_stand_for_the_outputs_of_the_binary():
    one = replace(rule("gpu/fan", "never"), shown=("a-x1_535.54.03", "b-x1_535.274.02"))
    mine = case("gpu[0]/fan", used=1)
    theirs = replace(case("gpu[0]/twin"), id="b-x1_535.274.02", printed=replace(PRINTED, origin=PAIR[1]))
    both = ("a-x1_535.54.03", "b-x1_535.274.02")
    assert "is untrue" in str(problem(replace(one, shown=None), mine, theirs, captures=both))
    assert problem(one, mine, theirs, captures=both) is None
    with_it = replace(theirs, elements=("gpu[3]/fan",))
    assert "b-x1_535.274.02 is no capture of 535.274.02 without it" in str(problem(one, mine, with_it, captures=both))
    assert "a-x1_535.54.03 is no capture of 535.54.03 with it" in str(problem(one, replace(mine, elements=()), theirs, captures=both))
    assert "is no capture of 535.274.02" in str(problem(one, mine, replace(theirs, printed=PRINTED), captures=both))
    assert "is no capture of 535.274.02 here" in str(problem(one, mine))
