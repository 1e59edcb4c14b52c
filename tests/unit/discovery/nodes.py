"""Texts of nodes that are made up, as nvidia-smi writes them."""

from __future__ import annotations


def report(*cards: str, doctype: str = "nvsmi_device_v12.dtd") -> bytes:
    """A `-q -x` of ``cards``."""
    head = f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "{doctype}">\n<nvidia_smi_log>\n'
    return (f"{head}<driver_version>550.163.01</driver_version>\n<cuda_version>12.4</cuda_version>\n{''.join(cards)}</nvidia_smi_log>\n").encode()


def card(*inside: str, identity: str = "00000000:01:00.0") -> str:
    """One ``<gpu>`` with the elements ``inside``."""
    return f'<gpu id="{identity}">\n{"".join(inside)}</gpu>\n'


def modes(current: str, pending: str | None = None) -> str:
    """The MIG modes of a card."""
    return f"<mig_mode><current_mig>{current}</current_mig><pending_mig>{pending or current}</pending_mig></mig_mode>\n"


def named(name: str, uuid: str = "") -> str:
    """Name and UUID of a card."""
    return f"<product_name>{name}</product_name>\n<uuid>{uuid}</uuid>\n"


def memory(total: str, used: str) -> str:
    """Memory of a card or an instance, texts with their unit."""
    return f"<fb_memory_usage><total>{total}</total><used>{used}</used></fb_memory_usage>\n"


def mig(index: object, gpu_instance: object, compute_instance: object, total: str = "9856 MiB", used: str = "12 MiB") -> str:
    """One ``<mig_device>``."""
    ids = f"<gpu_instance_id>{gpu_instance}</gpu_instance_id><compute_instance_id>{compute_instance}</compute_instance_id>"
    return f"<mig_device><index>{index}</index>{ids}{memory(total, used)}</mig_device>\n"


def devices(*entries: str) -> str:
    """The block of MIG devices; without any as nvidia-smi writes it."""
    return f"<mig_devices>\n{''.join(entries) or 'None'}\n</mig_devices>\n"


def process(gpu_instance: str, compute_instance: str, pid: str, used: str) -> str:
    """One ``<process_info>``."""
    ids = f"<gpu_instance_id>{gpu_instance}</gpu_instance_id><compute_instance_id>{compute_instance}</compute_instance_id>"
    return f"<process_info>{ids}<pid>{pid}</pid><type>C</type><process_name>x</process_name><used_memory>{used}</used_memory></process_info>\n"
