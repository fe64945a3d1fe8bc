"""What the coordinator's server writes down: one JSON object a line, with the time, a level, what happened, and figures
about it. Never a content, a token, or a traceback, which could hold either.
"""

from __future__ import annotations

import datetime
import json
import logging

from blindlabel.errors import InputError, OutsideError


def log_event(log: logging.Logger, level: int, event: str, **facts: object) -> None:
    """Write down what happened."""
    log.log(level, json.dumps({"event": event, **facts}, ensure_ascii=False))


def failure(error: BaseException) -> dict[str, str]:
    """What may be said about an error: its kind, and its sentence where it was written for people."""
    said = {"sentence": str(error)} if isinstance(error, (InputError, OutsideError)) else {}
    return {"kind": type(error).__name__, **said}


class JsonLines(logging.Formatter):
    """Every entry as one line of JSON, also those of libraries."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        text = record.getMessage()
        try:
            facts = json.loads(text)
        except ValueError:
            facts = None
        if not isinstance(facts, dict):
            facts = {"event": "said", "by": record.name, "text": text.splitlines()[0] if text else ""}
        if record.exc_info and record.exc_info[1] is not None:
            facts["kind"] = type(record.exc_info[1]).__name__
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": at, "level": record.levelname.lower(), **facts}, ensure_ascii=False)
