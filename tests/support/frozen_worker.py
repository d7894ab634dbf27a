"""Thaw chains in a process of their own; `operator_contract.Worker` asks, pickled questions in, pickled answers out."""

from __future__ import annotations

import pickle
import sys

import checkout  # noqa: F401 - first of all


def main() -> None:
    from operator_contract import rest_of_run  # noqa: PLC0415 - of that checkout

    while True:
        try:
            operator, tails = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: object = [rest_of_run(operator, state, items) for state, items in tails]
        except Exception as error:  # noqa: BLE001 - the one who asked shall see it
            answer = repr(error)
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
