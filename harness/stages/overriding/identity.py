"""What a GPU is known by.  An override of it is kept and in force once the state is made anew with it: no driver renames a board that is in use, and
clients hold on to what they read at their start (ledger U17, X23).
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.stages.overriding.merging import STATES, Tree

BLOCKS = ("name", "architecture", "brand", "compute_capability", "uuid", "bar1_memory")
"""Keys and blocks that stand from a state's start on; of ``pci`` the address alone."""
ADDRESS = "bus_id"


def kept(trees: Sequence[Tree], started: Sequence[Tree]) -> list[Tree]:
    """``trees`` with the identity that each GPU had in ``started``."""
    return [_kept(tree, first) for tree, first in zip(trees, started, strict=True)]


def _kept(tree: Tree, first: Tree) -> Tree:
    made = _of(tree, first, BLOCKS)
    if isinstance(first.get("pci"), dict) or isinstance(made.get("pci"), dict):
        made["pci"] = _of(made.get("pci") or {}, first.get("pci") or {}, (ADDRESS,))
    states = {key: state for key, state in (made.get(STATES) or {}).items() if not is_identity(key)}
    states.update({key: state for key, state in (first.get(STATES) or {}).items() if is_identity(key)})
    if states or STATES in made:
        made[STATES] = states
    return made


def _of(tree: Tree, first: Tree, names: Sequence[str]) -> Tree:
    made = {name: value for name, value in tree.items() if name not in names}
    made.update({name: first[name] for name in names if name in first})
    return made


def is_identity(key: str) -> bool:
    """Whether a dotted key is one that is known from the start on."""
    return key.split(".", maxsplit=1)[0] in BLOCKS or key == f"pci.{ADDRESS}"
