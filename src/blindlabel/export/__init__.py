"""Ground truth out: files for other tools, and back in. `write(truth, format, path)` for all formats that need no
record content.
"""

from blindlabel.export.formats import FORMATS, Format, write
from blindlabel.export.reading import joined, merged, read_ground_truth
from blindlabel.export.truth import AgreedTruth, LabelledPair
from blindlabel.export.with_records import DESCRIPTIONS as FORMATS_WITH_RECORDS
from blindlabel.export.with_records import ENDS_BLINDNESS, write_with_records

__all__ = [
    "ENDS_BLINDNESS",
    "FORMATS",
    "FORMATS_WITH_RECORDS",
    "AgreedTruth",
    "Format",
    "LabelledPair",
    "joined",
    "merged",
    "read_ground_truth",
    "write",
    "write_with_records",
]
