"""Import: what nvidia-smi wrote becomes capture, profile, golden and, for a new driver version, a node of the driver tree."""
