"""The ways of answering, one package each. Which one an agreement gets follows from its terms alone.

- `assisted`: anything the language can say, with calls to the holder of the secret key;
- `conjunctive`: AND and a few OR without any call.
"""
