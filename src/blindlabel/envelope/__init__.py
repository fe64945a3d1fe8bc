"""The end-to-end envelope between two owners: keys, sealing, signatures and the words to compare. libsodium does the
cryptography. The coordinator relays envelopes and must never be able to open one.
"""
