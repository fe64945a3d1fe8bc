"""The ways of answering, one package each, behind the Protocol of `interface`; `choosing` says which one an agreement
gets.

- `points`: conditions with points, a bar and exclusions, without any call;
- `assisted`: anything the language can say, with calls to the holder of the secret key.
"""
