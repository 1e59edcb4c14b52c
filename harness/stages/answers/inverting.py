"""From fields to keys: what the answers say of the image's fields, as the profile that compiles into just these fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.stages import compile_derived, compile_device
from harness.stages.answers import inverting_derived
from harness.stages.answers.keys_made import Keys, text_of
from harness.stores.schema import codec, keys, within
from harness.words.errors import InputError
from harness.words.state import State
from mocklib import fields
from mocklib.spec import Pages

if TYPE_CHECKING:
    from harness.stages.answers.told import Told
    from harness.stores.profiles import Device
    from mocklib.spec import FieldValue


def settle(told: Mapping[str, Told], index: int, base: Device | None = None, fixed: frozenset[str] = frozenset()) -> Keys:
    """The keys of GPU ``index`` that make its fields what ``told`` says of them; ``base``: what a text says, which an answer wins over.

    ``fixed``: keys of ``base`` that no answer wins over: those of the node.
    """
    made = Keys(fixed=fixed)
    made.values["index"] = index  # the node's lists of links are by index
    if base is not None:
        made.values.update(base.values)
        made.states = dict(base.states)
    for name, definition in fields.device_fields().items():
        if name in told and definition.source is None:
            _plain(made, told[name])
    inverting_derived.settle(made, told)
    _ranges(made)
    _states(made, told, index)
    served = made.served(index)
    made.unheld = [said for name, said in told.items() if not _says(said, served[name], made)]
    made.values.pop("index")
    return made


def _plain(made: Keys, told: Told) -> None:
    """A field that is the key of its name."""
    key = keys.device_keys()[told.name]
    if told.code:
        if not (told.code == compile_device.NOT_SUPPORTED and lacking(told.name, made.values)):
            made.drop(key.path)
        return
    try:
        value = _profile_value(key, told.value)
    except InputError:
        return
    made.put(key.path, value, told)


def _profile_value(key: keys.Key, raw: Any) -> Any:
    """What a profile holds for an answer's value; InputError where it cannot hold just that."""
    if isinstance(raw, Pages):
        listed = {"addresses": list(raw.addresses), "timestamps": list(raw.timestamps)}
        return {"count": raw.count, **{name: numbers for name, numbers in listed.items() if numbers}}
    if not compile_device.fits(fields.device_fields()[key.path], raw):
        raise InputError(f"{key.path}: {raw} has no room")
    value = codec.to_profile(key, text_of(raw) if isinstance(raw, str) else raw.hex() if isinstance(raw, bytes) else raw)
    back = codec.to_nvml(key, value)
    if (compile_derived.served_text(back) if isinstance(raw, str) and isinstance(back, str) else back) != raw:
        raise InputError(f"{key.path} cannot say {raw!r}")
    return value


def _ranges(made: Keys) -> None:
    """A range whose lower end is above the upper one is none that a profile can say."""
    for low, high in within.ENDS:
        least, most = made.values.get(low), made.values.get(high)
        if least is not None and most is not None and least > most:
            made.drop(low)
            made.drop(high)


def _says(told: Told, served: FieldValue, made: Keys) -> bool:
    """Whether the field answers what was answered."""
    if told.code:
        return served.status == told.code or (told.code == compile_device.NOT_SUPPORTED and lacking(told.name, made.values))
    if told.name == "accounting.processes" and not told.value and made.values.get("accounting.mode") == "disabled":
        return True  # nothing of the buffer is told while accounting is off (ledger R06)
    return not served.status and inverting_derived.comparable(served.value) == inverting_derived.comparable(told.value)


def lacking(name: str, values: Mapping[str, Any]) -> bool:
    """Whether the mode that the field needs does not hold: it is not supported then, whatever it is."""
    return fields.device_fields()[name].need == "ecc" and values.get("ecc.mode_current") != "enabled"


def _states(made: Keys, told: Mapping[str, Told], index: int) -> None:
    """States for the codes that the keys do not answer by themselves; fields that one key stands for have its state where they agree."""
    served = made.served(index)
    needed = {name: said for name, said in told.items() if said.code and not _says(said, served[name], made)}
    for group in dict.fromkeys(compile_derived.STATE_KEYS.values()):
        names = [name for name in fields.device_fields() if group in (name, compile_derived.STATE_KEYS.get(name)) and name in told]
        codes = {told[name].code for name in names}
        if len(codes) == 1 and any(name in needed for name in names):
            _state(made, group, told[names[0]])
            needed = {name: said for name, said in needed.items() if name not in names}
    for name, said in needed.items():
        _state(made, name, said)


def _state(made: Keys, key: str, told: Told) -> None:
    state = State.of_code(told.code)
    if state is not None:
        made.refuse(key, state, told)
