"""Ground truth out: files for other tools, and back in. No format has the content of a record."""

from blindlabel.export.formats import FORMATS, Format, write
from blindlabel.export.reading import joined, merged, read_ground_truth
from blindlabel.export.truth import AgreedTruth, LabelledPair

__all__ = ["FORMATS", "AgreedTruth", "Format", "LabelledPair", "joined", "merged", "read_ground_truth", "write"]
