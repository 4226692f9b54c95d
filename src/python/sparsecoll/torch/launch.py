# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Starts processes of torch.distributed on this machine, or on one of several.

    python3 -m sparsecoll.torch.launch -n 4 train.py --epochs 3
    python3 -m sparsecoll.torch.launch -n 4 --nodes 2 --node 1 --address 10.0.0.1 train.py

Each process gets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. When one fails, the others
are ended, and its exit code is that of the launcher. (torchrun does more; that of Debian 12 does not
start.)
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from typing import List


def free_port() -> int:
    """Returns a port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(options: argparse.Namespace, command: List[str]) -> List["subprocess.Popen[bytes]"]:
    """Starts the processes of this machine."""
    port = options.port or free_port()
    processes = []
    for local in range(options.n):
        environment = dict(
            os.environ, RANK=str(options.node * options.n + local), LOCAL_RANK=str(local),
            WORLD_SIZE=str(options.nodes * options.n), MASTER_ADDR=options.address,
            MASTER_PORT=str(port))
        processes.append(subprocess.Popen(command, env=environment))
    return processes


def wait(processes: List["subprocess.Popen[bytes]"]) -> int:
    """Waits for all processes. Returns 0, or the exit code of the first that failed."""
    while True:
        codes = [process.poll() for process in processes]
        failed = [code for code in codes if code]
        if failed or None not in codes:
            break
        time.sleep(0.05)
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + 10
    for process in processes:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return 0 if not failed else failed[0] if failed[0] > 0 else 128 - failed[0]


def main() -> int:
    """Starts the processes and waits for them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, required=True, help="processes on this machine")
    parser.add_argument("--nodes", type=int, default=1, help="number of machines")
    parser.add_argument("--node", type=int, default=0, help="number of this machine, from 0")
    parser.add_argument("--address", default="127.0.0.1", help="an address of machine 0")
    parser.add_argument("--port", type=int, default=0, help="a free port of machine 0; by default any")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.nodes > 1 and not options.port:
        parser.error("with several machines --port is needed")
    # A terminate signal ends the processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    processes = start(options, [sys.executable, options.script, *options.arguments])
    try:
        return wait(processes)
    except BaseException:
        for process in processes:
            process.terminate()
        raise


if __name__ == "__main__":
    sys.exit(main())
