"""How good a linkage is, from labels of its candidate pairs: what to draw, what the labels say, and what it
will cost.
"""

from blindlabel.estimates.candidate_pairs import Candidates, read_candidates
from blindlabel.estimates.estimating import Estimate, Figure, estimate

__all__ = ["Candidates", "Estimate", "Figure", "estimate", "read_candidates"]
