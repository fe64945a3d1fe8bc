"""A ground truth as one file to download: the chosen format, and the discarded pairs beside it."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

from blindlabel.export import GroundTruth, write


def archive_of(truth: GroundTruth, format: str) -> bytes:
    """A ground truth in one format, with the discarded pairs beside it, as an archive."""
    buffer = io.BytesIO()
    with (
        tempfile.TemporaryDirectory(prefix="blindlabel-") as folder,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path in write(truth, format, Path(folder)):
            archive.write(path, path.name)
    return buffer.getvalue()
