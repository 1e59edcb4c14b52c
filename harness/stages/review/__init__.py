"""Review: what a command proposes lies beside what is there until somebody accepts or rejects it."""
