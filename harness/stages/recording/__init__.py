"""Recording a node: its views, its answers, and how they move."""
