# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that are threads, guards against hangs, and oracles from the definitions."""

import faulthandler
import threading
import unittest

import numpy as np

import sparsecoll as sc


class Case(unittest.TestCase):
    """A test that ends the program with all stacks if it hangs."""

    SECONDS = 200

    def setUp(self):
        faulthandler.dump_traceback_later(self.SECONDS, exit=True)

    def tearDown(self):
        faulthandler.cancel_dump_traceback_later()


def on_threads(count, body, on_error=lambda: None):
    """Calls body(i) on as many threads, and returns the results in order. Raises the first error
    when all threads have ended. A thread with an error calls on_error() first."""
    results, errors = [None] * count, []

    def run(i):
        try:
            results[i] = body(i)
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)
            on_error()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def on_ranks(nranks, body, config=None):
    """Calls body(comm) on every rank, and returns the results by rank. Raises the first error of a
    rank, after the communicators of all ranks were aborted."""
    comms = sc.Communicator.init_all(nranks, config=config)

    def abort_all():
        for comm in comms:
            comm.abort()

    try:
        return on_threads(nranks, lambda rank: body(comms[rank]), abort_all)
    finally:
        for comm in comms:
            comm.destroy()


def values_of(rank, count, dtype=np.float32, seed=0):
    """Returns small integers, whose sums have no rounding; few are equal in magnitude."""
    generator = np.random.default_rng([seed, rank])
    return generator.integers(-4096, 4096, count).astype(dtype)


def topk(x, k):
    """Returns x with zeros outside the k entries of largest magnitude; the lower index wins."""
    order = np.argsort(-np.abs(x.astype(np.float64)), kind="stable")[:k]
    out = np.zeros_like(x)
    out[order] = x[order]
    return out


def allreduce_oracle(accs, k):
    """Returns the result of sparseAllreduce and the residuals of all ranks."""
    lists = [topk(acc, k) for acc in accs]
    total = topk(sum(lists[1:], lists[0].copy()), k)
    residuals = [np.where((total != 0) & (own != 0), 0, acc) for acc, own in zip(accs, lists)]
    return total, residuals
