"""Why a device cannot be used, in the words that people read; the ledger's rows DM51, DM52 and DM98."""

from __future__ import annotations

NO_INSTANCES = (
    "MIG is on and nothing is created: nothing can run on this card; create instances (nvidia-smi mig -cgi PROFILES -C) "
    "or turn MIG off (nvidia-smi -mig 0)"
)
NO_COMPUTE_INSTANCE = "MIG is on and GPU instance {ids} has no compute instance: create one (nvidia-smi mig -cci -gi {ids})"
UNNAMED = "MIG is on and has instances, but nvidia-smi -L does not name them: none can be given to a process by its UUID"
PENDING = "MIG {pending} from the next reset of the card on; until then it is {current}"
NO_REPORT = "nvidia-smi -q -x gave no report: {reason}"
NO_LIST = "nvidia-smi -L gave no list: {reason}"
FAILED = "{reason}; what it printed before is taken"
STRANGERS = "{count} of the report's cards, the first at {card}, are none that nvidia-smi -L lists: left out; give the texts of one node"
NO_PROFILE = "its profile is not known, so it has no class"
NO_NUMBER = "{count} MIG devices have no number of their own: {reason}"
NO_CARD_NUMBER = "{count} cards have no number of their own: from {first} on numbers are instances'"
NO_COUNT = "NVML does not say how many devices there are: {reason}"
LOST = "GPU at {address} has no handle: {reason}"
DEAD = frozenset({15, 16})
"""nvmlReturn_t of a card on which nothing can run: NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED (nvml.h)."""
DEAD_TEXTS = frozenset({"gpu is lost", "gpu requires reset"})
"""What nvidia-smi prints for the memory of such a card, in lower case: the driver's own texts of the two codes."""
