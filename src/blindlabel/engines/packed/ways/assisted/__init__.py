"""Answering with the assist: probes become bits and bits become tallies, by masked calls to the key's holder."""
