"""The laboratory beside blindlabel: simulated studies with faults, the publication's experiments, benchmarks.

Nothing here is needed to run a study, and blindlabel never imports it; `blindlabel bench` and `blindlabel experiment`
appear by entry point where this distribution is installed.
"""
