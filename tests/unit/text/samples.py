"""Small texts in nvidia-smi's layout, written by hand: what a test changes, it names."""

from __future__ import annotations

UUIDS = ("GPU-11223344-5566-7788-99aa-bbccddeeff04", "GPU-11223344-5566-7788-99aa-bbccddeeff03")

GPU = """\
	<gpu id="00000000:0{bus}:00.0">
		<product_name>{name}</product_name>
		<mig_devices>
			None
		</mig_devices>
		<serial>173940268382{bus}</serial>
		<uuid>{uuid}</uuid>
		<platformInfo>
			<chassis_serial_number></chassis_serial_number>
			<slot_number>N/A</slot_number>
		</platformInfo>
		<temperature>
			<gpu_temp>3{bus} C</gpu_temp>
		</temperature>
		<supported_clocks>
			<supported_mem_clock>
				<value>1215 MHz</value>
				<supported_graphics_clock>255 MHz</supported_graphics_clock>
				<supported_graphics_clock>240 MHz</supported_graphics_clock>
				<supported_graphics_clock>225 MHz</supported_graphics_clock>
				<supported_graphics_clock>210 MHz</supported_graphics_clock>
			</supported_mem_clock>
		</supported_clocks>
		<processes>
		</processes>
	</gpu>

"""


def query(gpus: int = 1, attached: int | None = None) -> str:
    """A `-q -x` text of ``gpus`` GPUs in nvidia-smi's own layout."""
    blocks = "".join(GPU.format(bus=place + 1, name="NVIDIA A100-SXM4-40GB", uuid=UUIDS[place]) for place in range(gpus))
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
        "\t<timestamp>Fri Aug 21 10:21:36 2026</timestamp>\n\t<driver_version>570.148.08</driver_version>\n"
        f"\t<attached_gpus>{gpus if attached is None else attached}</attached_gpus>\n{blocks}</nvidia_smi_log>\n"
    )


LIST = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-11223344-5566-7788-99aa-bbccddeeff04)
  MIG 3g.20gb     Device  0: (UUID: MIG-11223344-5566-7788-99aa-bbccddeeff02)
  MIG 1g.5gb      Device  1: (UUID: MIG-11223344-5566-7788-99aa-bbccddeeff01)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-11223344-5566-7788-99aa-bbccddeeff03)
"""

OUTLINE_GPU = """\
GPU 00000000:0{bus}:00.0
    Product Name                          : NVIDIA A100-SXM4-40GB
    Serial Number                         : 173940268382{bus}
    GPU UUID                              : {uuid}
    Minor Number                          : {place}
    Clocks Event Reasons
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
    GPU Memory Power Readings{blank}
        Power Draw                        : N/A
    Atomic Caps Outbound                  : CAS_32 CAS_64{blank}
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 7
            Name                          : /home/somebody/train: fast
        GPU instance ID                   : N/A
        Process ID                        : 9
            Name                          : x

"""


def text(gpus: int = 1, attached: int | None = None) -> str:
    """A `-q` text of ``gpus`` GPUs in nvidia-smi's own layout."""
    blocks = "".join(OUTLINE_GPU.format(bus=place + 1, place=place, uuid=UUIDS[place], blank=" ") for place in range(gpus))
    counted = gpus if attached is None else attached
    return (
        "\n==============NVSMI LOG==============\n\n"
        "Timestamp                                 : Fri Aug 21 10:21:36 2026\nDriver Version                            : 570.148.08\n"
        f"CUDA Version                              : 12.8\n\nAttached GPUs                             : {counted}\n{blocks}"
    )
