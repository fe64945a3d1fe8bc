"""Answering AND and a few OR without the assist: random sums of linear forms, multiplied out."""
