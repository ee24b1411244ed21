"""The front doors: from a call to its result."""
