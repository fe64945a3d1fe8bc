"""Engines answer questions about records; all share the interface in `interface`, and `registry` finds them by name.

`plain` is the reference, `packed` the default. Other distributions may add theirs.
"""
