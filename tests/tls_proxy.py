"""A TLS front for a server that speaks plainly, on loopback."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import trustme


@contextmanager
def tls_front(port: int, folder: Path) -> Iterator[tuple[int, Path]]:
    """The port that speaks TLS for the server at `port`, and the certificate to trust."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    certificate = folder / "authority.pem"
    authority.cert_pem.write_to_path(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=_accept, args=(listener, context, port))
        accepting.start()
        try:
            yield listener.getsockname()[1], certificate
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(listener: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError):
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=_serve, args=(plain, context, port), daemon=True).start()


def _serve(plain: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with (
        suppress(OSError),
        context.wrap_socket(plain, server_side=True) as client,
        socket.create_connection(("127.0.0.1", port)) as server,
    ):
        threading.Thread(target=_copy, args=(server, client), daemon=True).start()
        _copy(client, server)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
