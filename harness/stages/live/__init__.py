"""Live: the builtin renderer over a node's own library, held against what the node's nvidia-smi prints.  Nothing is stored."""

from harness.stages.live.node import Node
from harness.stages.live.running import Live, check

__all__ = ["Live", "Node", "check"]
