"""Every view of nvidia-smi on every branch's real binary, for any profile: what each prints, and whether it may be trusted."""
