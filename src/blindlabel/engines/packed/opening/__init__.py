"""Answers for a key holder who is not trusted with them: randomness of both sides (`joint`), a pad over the whole ring
(`padding`, on the arithmetic of `pads`). Used where the records' owner holds the key (`keys = "owners"`).
"""
