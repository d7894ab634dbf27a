"""A server that answers whatever is asked with one answer: its bytes come by standard input, their number is named."""

from __future__ import annotations

import socket
import sys
import threading


def _serve(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        while True:
            threading.Thread(target=_answer_all, args=(listening.accept()[0], answer), daemon=True).start()


def _answer_all(connection: socket.socket, answer: bytes) -> None:
    try:
        with connection, connection.makefile("rb") as requests:
            while line := requests.readline():
                length = 0
                while line.strip():
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                    line = requests.readline()
                requests.read(length)
                connection.sendall(answer)
    except ConnectionError:
        return  # the client has read what it wanted


if __name__ == "__main__":
    _serve(sys.stdin.buffer.read(int(sys.argv[1])))
