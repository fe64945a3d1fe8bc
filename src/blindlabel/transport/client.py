"""An owner's way to the coordinator over HTTP. It repeats what failed for passing reasons, and continues bodies where
they were cut off.

A refusal of the coordinator comes back as the same typed error that the rules raised there.
"""

from __future__ import annotations

import itertools
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from blindlabel.errors import InputError, OutsideError, reason
from blindlabel.protocol import messages, refusals
from blindlabel.protocol.interfaces import Bodies, MovedBytes, Told, Unreachable
from blindlabel.protocol.letters import Letters
from blindlabel.protocol.shape import Blob
from blindlabel.protocol.standing import NAMELESS, Known, Life
from blindlabel.storage.files import BodyDamaged
from blindlabel.transport.replies import CHECK, LIFE, Arrived, Health, Refusal, Waiting, asked, checksum

PIECES = 8
"""Pieces of a body, a megabyte each, that are sent with one request."""
ENVIRONMENT = "environment"
"""In place of a proxy's address: follow HTTPS_PROXY and NO_PROXY."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0

_PASSING = {"offset": "a part of a body arrived twice", "damaged": "what was sent was damaged on its way"}
"""Refusals that pass by themselves."""

T = TypeVar("T")
S = TypeVar("S", bound=BaseModel)


class Untrusted(Unreachable):
    """The other side could not be recognised as the coordinator. Trying again at once does not help."""


class _Passing(Exception):
    """A failure that may pass: the connection broke, or the server is busy."""


class HttpTransport:
    """Speaks with one coordinator about one study."""

    def __init__(
        self,
        address: str,
        letters: Letters,
        token: str,
        *,
        life: Life = NAMELESS,
        authority: str | None = None,
        certificate: str = "",
        proxy: str = "",
        patience: float = 30.0,
    ) -> None:
        if not address.startswith(("http://", "https://")):
            raise InputError(
                f"{address!r} is not an address of a coordinator; it begins with https:// (or http:// on this machine)."
            )
        verify = _checks(address, authority, certificate)
        self._letters, self._study = letters, letters.study
        self._patience = patience
        self._through = f" through the proxy {urlsplit(proxy).hostname}" if "://" in proxy else ""
        timeout = httpx.Timeout(60.0, connect=min(10.0, max(1.0, patience)))
        headers = {"Authorization": f"Bearer {token}", LIFE: " ".join((life.name, *life.before))}
        self._client = httpx.Client(
            base_url=address.rstrip("/"),
            headers=headers,
            timeout=timeout,
            verify=verify,
            proxy=proxy if "://" in proxy else None,
            trust_env=proxy == ENVIRONMENT,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Hand over a message and, before it, its bodies."""
        message = messages.parse(wire).message
        for blob in message.blobs:
            self._patiently(lambda blob=blob: self._upload(blob, bodies, moved))  # type: ignore[misc]
        letter = self._letters.seal(wire)
        self._patiently(lambda: self._request("POST", "/v1/messages", content=letter))

    def _upload(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None) -> None:
        path = f"/v1/studies/{self._study}/bodies/{blob.hash}"
        arrived = self._said(Arrived, "GET", f"{path}/arrived", params={"length": blob.length})
        while not arrived.complete:
            part = b"".join(itertools.islice(bodies.read(blob, arrived.received), PIECES))
            params = {"length": blob.length, "offset": arrived.received}
            arrived = self._said(Arrived, "PUT", path, params=params, content=part)
            if moved:
                moved(arrived.received, blob.length)

    def fetch(self, known: Known, wait: float) -> Told:
        """The coordinator's messages after those that are known."""
        params = {"after": known.received, **known.model_dump(exclude={"received"}), "wait": wait}
        url = f"/v1/studies/{self._study}/messages"

        def attempt() -> Told:
            found = self._said(Waiting, "GET", url, params=params)
            if found.check != found.checked():
                raise _Passing("an answer was damaged on its way")
            try:
                return Told([self._letters.open(letter.encode()) for letter in found.messages], found.standing)
            except refusals.MalformedMessage as error:
                raise _Passing("a message was damaged on its way") from error

        return self._patiently(attempt)

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Get a body that a message names, continuing from what is already here."""

        def attempt() -> None:
            if bodies.has(blob):
                return
            here = bodies.received(blob)
            url = f"/v1/studies/{self._study}/bodies/{blob.hash}"
            request = self._made("GET", url, params={"offset": here})
            with closing(self._client.send(request, stream=True)) as response:
                if response.status_code != 200:
                    response.read()
                    _check(response)
                # also if nothing is left to come: a process may have died before it kept what had come
                for piece in itertools.chain([b""], response.iter_bytes(2**20)):
                    here = bodies.append(blob, here, [piece])
                    if moved:
                        moved(here, blob.length)
            if here < blob.length:
                raise _Passing("the connection ended early")

        try:
            self._patiently(attempt)
        except BodyDamaged:
            self._patiently(attempt)

    def _request(self, method: str, url: str, **more: Any) -> httpx.Response:
        response = self._client.send(self._made(method, url, **more))
        _check(response)
        return response

    def _made(self, method: str, url: str, content: bytes = b"", **more: Any) -> httpx.Request:
        """A request with its checksums."""
        request = self._client.build_request(method, url, content=content, **more)
        request.headers[CHECK] = f"{asked(method, url, request.url.query, request.headers)} {checksum(content)}"
        return request

    def _said(self, kind: type[S], method: str, url: str, **more: Any) -> S:
        """What the coordinator says, provided that it is the coordinator that answers."""
        try:
            return kind.model_validate_json(self._request(method, url, **more).content)
        except ValidationError:
            raise _Passing("something else answers in its place") from None

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Repeat an attempt whose failure may pass, with growing pauses, until patience runs out."""
        began, pause = time.monotonic(), _FIRST_PAUSE
        while True:
            try:
                return attempt()
            except (_Passing, httpx.TransportError) as error:
                _check_trust(error, str(self._client.base_url))
                if time.monotonic() - began + pause > self._patience:
                    raise Unreachable(
                        f"The coordinator at {self._client.base_url} cannot be reached{self._through}: {_why(error)}."
                    ) from error
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)


def _why(error: Exception) -> str:
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        return "its answer was damaged on its way"
    if isinstance(error, httpx.RemoteProtocolError):
        return "it hung up; a gateway may ask for a certificate of yours (--client-certificate file.pem)"
    return reason(error)


def trusting(authority: str, shown: str = "What is remembered as the certificate to trust") -> ssl.SSLContext:
    """A context that trusts the certificate of this text (PEM)."""
    try:
        return ssl.create_default_context(cadata=authority)
    except (ValueError, ssl.SSLError) as error:
        raise InputError(f"{shown} cannot be read as a certificate: {error}.") from error


def _checks(address: str, authority: str | None, certificate: str = "") -> ssl.SSLContext:
    """How certificates are checked, and the one that this side shows. Reading the system's takes a tenth of a second,
    which an address without TLS does not need; if it turns out to use TLS after all, nothing is trusted.
    """
    if authority is not None:
        context = trusting(authority)
    elif address.startswith("https://"):
        context = httpx.create_ssl_context(trust_env=False)
    else:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if certificate:
        show_certificate(context, Path(certificate))
    return context


def show_certificate(context: ssl.SSLContext, file: Path) -> None:
    """Show the certificate in a file, which also has its key, to a server that asks for one."""
    try:
        context.load_cert_chain(file, password="")  # a key under a passphrase is refused, not asked about
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"{file} cannot be used as a client certificate: it needs a certificate and its key, without a passphrase,"
            f" in one PEM file ({_why(error)})."
        ) from error


def health_of(address: str, authority: str | None = None) -> Health:
    """What a server says about its health; an `OutsideError` if it is not well or does not answer."""
    verify = _checks(address, authority)
    try:
        response = httpx.get(f"{address.rstrip('/')}/health", verify=verify, timeout=30.0, trust_env=False)
        if response.status_code == 200:
            return Health.model_validate_json(response.content)
        said = Refusal.model_validate_json(response.content)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        _check_trust(error, address)
        raise Unreachable(f"The coordinator at {address} does not answer: {_why(error)}.") from error
    except ValidationError as error:
        raise OutsideError(f"What answers at {address} is not a coordinator.") from error
    raise OutsideError(f"The coordinator at {address} is not well: {said.sentence}")


def _check_trust(error: BaseException, address: str) -> None:
    """Raise `Untrusted` if TLS itself failed: waiting does not help."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
            why = getattr(cause, "verify_message", "") or cause.reason or str(cause)
            do = "Give the certificate of its operator with --ca file.pem; it is remembered. Is the address right?"
            if "not yet valid" in why or "expired" in why:
                do = f"Is this machine's clock right? It says {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}."
            raise Untrusted(
                f"No safe connection with the coordinator at {address} could be made ({why}). {do}"
            ) from error
        cause = cause.__cause__ or cause.__context__


def _check(response: httpx.Response) -> None:
    """Turn a refusal into its error."""
    if response.status_code == 200:
        return
    if response.status_code in (429, 500, 502, 503, 504):
        raise _Passing(f"it answers with status {response.status_code}")
    try:
        refusal = Refusal.model_validate_json(response.content)
    except ValidationError:
        refusal = Refusal(error="", sentence="")
    if refusal.error in ("disk", "large"):  # its operator may make room, or allow more
        raise Unreachable(refusal.sentence)
    if refusal.error in refusals.ALL:
        raise refusals.ALL[refusal.error](refusal.sentence)
    stranger = f"something else answers in its place, with status {response.status_code}; is the address right?"
    raise _Passing(_PASSING.get(refusal.error, stranger))
