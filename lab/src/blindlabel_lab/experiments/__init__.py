"""The publication's experiments, on its data or any other, with simulated oracles.

Every experiment is a function from a plan to a document (what `--json` prints), kept apart from how it is shown
(`plots`, `report`).
"""
