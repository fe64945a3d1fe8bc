"""A proxy as hospitals have them at their border: it takes CONNECT alone, may want a password, and knows names that
nobody else here knows; and one with TLS in front of a server. Real sockets on loopback.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from pathlib import Path

OUTSIDE = "coordinator.example"
"""A name that only the proxy can resolve."""


class Egress:
    """The proxy's address, and what it was asked for."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked: list[str] = []


@contextmanager
def egress(port: int, password: str = "") -> Iterator[Egress]:
    """A proxy whose only way out ends at a port of this machine, whatever name is asked for."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines = []
            while line := self.rfile.readline().strip():
                lines.append(line.decode())
            made.asked.append(lines[0])
            expected = base64.b64encode(f"ward:{password}".encode()).decode()
            if password and f"Proxy-Authorization: Basic {expected}" not in lines:
                self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            elif not lines[0].startswith(f"CONNECT {OUTSIDE}:"):
                self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            else:
                with socket.create_connection(("127.0.0.1", port)) as out:
                    self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    back = threading.Thread(target=pass_on, args=(out, self.connection), daemon=True)
                    back.start()
                    pass_on(self.connection, out)
                    back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        made = Egress(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            server.shutdown()


@contextmanager
def tls_in_front(pem: Path, key: Path, port: int) -> Iterator[int]:
    """What a TLS proxy does: its port leads to another, in clear. In one thread: two at one TLS connection break it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)

    async def serve(inside: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            behind, asked = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(copied(inside, asked), copied(behind, answers))

    async def copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError), closing(target):
            while piece := await source.read(65536):
                target.write(piece)
                await target.drain()

    async def listen() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
            listening.set_result(server.sockets[0].getsockname()[1])
            await server.serve_forever()

    listening: Future[int] = Future()
    threading.Thread(target=lambda: asyncio.run(listen()), daemon=True).start()
    yield listening.result()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass on all that comes from one side to the other, until it ends."""
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for a name, and its key."""
    pem, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    names = ["-addext", f"subjectAltName=DNS:{name},DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, *names, "-keyout", key, "-out", pem], check=True, capture_output=True)
    return pem, key


def certificate_of_the_future(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate that will be valid one day, and its key."""
    pem, key, asked = folder / "later.pem", folder / "later.key", folder / "later.csr"
    made = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", key, "-out", asked], check=True, capture_output=True)
    (folder / "index").write_text("")
    (folder / "ca.conf").write_text(
        f"[ca]\ndefault_ca=it\n[it]\ndatabase={folder}/index\nnew_certs_dir={folder}\nrand_serial=yes\npolicy=any\n"
        "default_md=sha256\nx509_extensions=names\n[any]\ncommonName=supplied\n[names]\nsubjectAltName=IP:127.0.0.1\n"
    )
    signed = ["openssl", "ca", "-batch", "-selfsign", "-config", str(folder / "ca.conf"), "-in", str(asked)]
    dates = ["-startdate", "20990101000000Z", "-enddate", "20990201000000Z"]
    subprocess.run([*signed, *dates, "-keyfile", key, "-notext", "-out", pem], check=True, capture_output=True)
    return pem, key
