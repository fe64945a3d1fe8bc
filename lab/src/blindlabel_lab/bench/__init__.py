"""Measurements that the documentation quotes; each can be run again with `blindlabel bench`."""
