# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Runs train_digits and reads its report. The other scripts of this folder use it."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

MODES = ("dense", "topk", "oktopk", "gtopk", "topka2a", "sharded", "oktopk-reuse", "groups", "dgc",
         "sgp", "osgp", "gossip")
SECONDS_TO_DIE = 10  # time for mpirun to end its ranks before it is killed


class RunFailed(RuntimeError):
    """A run that failed. status: its exit status, or None if it was stopped."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def check(condition, message):
    if not condition:
        raise RuntimeError(message)


def exit_status(work):
    """Runs `work` and returns the exit status: 0, or 1 after printing the error to stderr."""
    try:
        work()
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def stop(process):
    """Stops a run that hangs. It sends SIGTERM first, because a killed mpirun leaves its ranks behind."""
    process.terminate()
    try:
        process.wait(SECONDS_TO_DIE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run(command, timeout, environment):
    """Runs a command. Raises RunFailed, with the output, if it fails or does not end in time."""
    variables = {**os.environ, **environment}
    status = None
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=variables)
        try:
            status = process.wait(timeout)
            failure = f"exit status {status}" if status else ""
        except subprocess.TimeoutExpired:
            failure = f"not done after {timeout} s"
        finally:
            if process.poll() is None:
                stop(process)
        if failure:
            output.seek(0)
            raise RunFailed(f"{shlex.join(command)}: {failure}\n{output.read()}", status)


def train(program, ranks, arguments, launcher="", timeout=120, environment=None, any_status=False):
    """Runs one training and returns its epochs, each as the row that the program wrote to --json.

    launcher: mpirun up to the number of ranks; empty: ranks are threads. program: with launcher, words may
    precede it. environment: variables to
    add to those of this process. any_status: the run may have any exit status, because a rank dies.
    """
    if launcher:
        start = [*shlex.split(launcher), str(ranks), *shlex.split(str(program)), "--transport", "mpi"]
    else:
        start = [str(program), "--transport", "local", "--ranks", str(ranks)]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "epochs.json"
        try:
            run([*start, "--check", "--json", str(report), *map(str, arguments)], timeout, environment or {})
        except RunFailed as failure:
            if not any_status or failure.status is None:
                raise
        return [json.loads(line) for line in report.read_text().splitlines()]
