"""Who may import what and who may start what; the layers themselves are import-linter's contracts in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.skeleton import tree

PACKAGES = ("harness", "mocklib")

# library -> the one module, or the one package (ending in /), that imports it
ONE_IMPORTER = {
    "lxml": "harness/text/xmltree.py",
    "deepdiff": "harness/stages/compare/",
    "pydantic": "harness/stores/schema/",
    "pycparser": "mocklib/gen/",
    "junitparser": "harness/reports/junit.py",
}

# module -> what it starts
STARTERS = {
    "mocklib/build.py": "the C compiler",
    "harness/stages/smi.py": "the real nvidia-smi",
    "harness/stages/running.py": "the user's own command",
    "harness/stages/child.py": "this package's own renderer and asker, each in a process of its own",
}
STARTS = ("os.exec", "os.spawn", "os.posix_spawn", "os.system", "os.popen", "os.fork", "pty.")


@pytest.mark.parametrize("library", ONE_IMPORTER)
def test_a_library_has_one_importer(library: str) -> None:
    importers = [tree.name(path) for path in tree.modules(*PACKAGES) if library in tree.imports(path)]
    allowed = ONE_IMPORTER[library]
    assert [importer for importer in importers if not (importer == allowed or (allowed.endswith("/") and importer.startswith(allowed)))] == []


def test_programs_are_started_by_named_modules_only() -> None:
    starters = {
        tree.name(path)
        for path in tree.modules(*PACKAGES)
        if "subprocess" in tree.imports(path) or any(call.startswith(STARTS) for call in tree.calls(path))
    }
    assert starters - set(STARTERS) == set()


def test_only_the_command_line_prints() -> None:
    printers = [tree.name(path) for path in tree.modules(*PACKAGES) if "print" in tree.calls(path) and not tree.name(path).startswith("harness/cli/")]
    assert printers == []


def test_the_noxfile_needs_only_the_standard_library_before_nox() -> None:
    outside = {module for module in tree.imports(tree.ROOT / "noxfile.py") if module not in sys.stdlib_module_names}
    assert outside == {"nox"}


def test_the_library_is_built_with_what_the_build_requires_alone() -> None:
    heavy = {"lxml", "click", "rich", "deepdiff", "filelock", "junitparser"}
    program = f"import harness.stages.building, sys; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
