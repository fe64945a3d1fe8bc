"""What the coordinator's server logs: one JSON object per line, with the time, a level, what happened, and figures
about it. Never any content, token or traceback, which could hold either.

It also serves figures of a running coordinator to Prometheus, in its text format, on a port of this machine only.

    blindlabel_up 1
    blindlabel_studies{state="open"} 2
    blindlabel_requests_total{route="/v1/messages",status="200"} 17

Counters begin with the process. For open studies there are their round, what they wait for, and when each owner was
last heard from.
"""

from __future__ import annotations

import datetime
import json
import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from blindlabel import __version__
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.interfaces import StudyRow


def log_event(log: logging.Logger, level: int, event: str, **facts: object) -> None:
    """Log what happened."""
    log.log(level, json.dumps({"event": event, **facts}, ensure_ascii=False))


def failure(error: BaseException) -> dict[str, str]:
    """What may be logged about an error: its kind and, if it was written for people, its sentence."""
    said = {"sentence": str(error)} if isinstance(error, (InputError, OutsideError)) else {}
    return {"kind": type(error).__name__, **said}


class JsonLines(logging.Formatter):
    """Every entry as one line of JSON, including those of libraries."""

    def format(self, record: logging.LogRecord) -> str:
        """One entry."""
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


class Counted:
    """What a server has done since it started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._bytes: Counter[str] = Counter()
        self._seconds = 0.0

    def request(self, route: str, status: int, seconds: float, received: int, sent: int) -> None:
        """One request was answered."""
        with self._lock:
            self._requests[route, status] += 1
            self._bytes["in"] += received
            self._bytes["out"] += sent
            self._seconds += seconds

    def lines(self) -> Iterator[str]:
        """The counters, as Prometheus reads them."""
        with self._lock:
            requests, moved, seconds = dict(self._requests), dict(self._bytes), self._seconds
        yield from _head("blindlabel_requests_total", "counter", "Requests by route and status.")
        for (route, status), count in sorted(requests.items()):
            yield f'blindlabel_requests_total{{route="{route}",status="{status}"}} {count}'
        yield from _head("blindlabel_bytes_total", "counter", "Bytes of requests and answers.")
        for way in ("in", "out"):
            yield f'blindlabel_bytes_total{{way="{way}"}} {moved.get(way, 0)}'
        yield from _head("blindlabel_request_seconds_total", "counter", "Seconds spent on requests, waiting included.")
        yield f"blindlabel_request_seconds_total {seconds:.3f}"


def text(coordinator: CoordinatorParty, counted: Counted) -> str:
    """All current figures."""
    lines = [*_head("blindlabel_up", "gauge", "Whether the database answers.")]
    try:
        studies, unserved = coordinator.store.studies(), coordinator.unserved()
        lines.append("blindlabel_up 1")
        lines += _head("blindlabel_studies", "gauge", "Studies by state; unserved: their keys cannot be read.")
        ended = sum(1 for row in studies if row.ended)
        counts = {"open": len(studies) - ended - len(unserved), "over": ended, "unserved": len(unserved)}
        lines += [f'blindlabel_studies{{state="{state}"}} {count}' for state, count in counts.items()]
        lines += _head("blindlabel_disk_free_bytes", "gauge", "Room for bodies.")
        lines.append(f"blindlabel_disk_free_bytes {coordinator.store.free()}")
        lines += _of_studies(coordinator, [row for row in studies if not row.ended])
    except (InputError, OutsideError):
        lines.append("blindlabel_up 0")
    lines += _head("blindlabel_version_info", "gauge", "The program's version.")
    lines.append(f'blindlabel_version_info{{version="{__version__}"}} 1')
    return "\n".join([*lines, *counted.lines()]) + "\n"


def _of_studies(coordinator: CoordinatorParty, studies: Iterable[StudyRow]) -> Iterator[str]:
    """How every open study stands."""
    loaded = [(json.dumps(row.name), row.study, coordinator.store.load(row.study)) for row in studies]
    known = [(name, study, one.state) for name, study, one in loaded if one is not None]
    yield from _head("blindlabel_round", "gauge", "The round of an open study.")
    for name, _, state in known:
        yield f"blindlabel_round{{study={name}}} {state.round}"
    yield from _head("blindlabel_waiting", "gauge", "What an open study waits for: whom, and for what.")
    for name, study, state in known:
        for step in coordinator.next_steps(study, state):
            yield f'blindlabel_waiting{{study={name},who="{step.who}",what="{step.what}"}} 1'
    yield from _head("blindlabel_owner_heard_seconds", "gauge", "When this process last heard of an owner, else 0.")
    for name, study, state in known:
        for owner in state.owners:
            at = coordinator.heard.get((study, owner), 0.0)
            yield f'blindlabel_owner_heard_seconds{{study={name},owner="{owner}"}} {at:.0f}'


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


@contextmanager
def listening(coordinator: CoordinatorParty, counted: Counted, port: int, host: str = "127.0.0.1") -> Iterator[int]:
    """Answer `GET /metrics` on a port in the background; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with the figures, or with 404."""
            found = self.path == "/metrics"
            content = text(coordinator, counted).encode() if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests for figures: they are frequent."""

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise OutsideError(f"Port {port} for the metrics cannot be opened: {error.strerror or error}.") from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
