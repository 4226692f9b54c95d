# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Errors, the queue, and the end of communicators."""

import gc
import unittest
import warnings
import weakref

import numpy as np

import sparsecoll as sc
from sparsecoll._library import has
from support import Case, on_ranks, values_of

N = 100
QUEUED = sc.Config(blocking=False)


class Errors(Case):
    def test_an_error_carries_code_rank_and_message(self):
        def body(comm):
            try:
                comm.sparse_allreduce(values_of(0, N), k=5 + comm.rank)
            except sc.Error as error:
                self.assertIsInstance(error, RuntimeError)
                comm.sparse_allreduce(values_of(0, N), k=5)
                return error
            return None

        for rank, error in enumerate(on_ranks(2, body)):
            self.assertIsInstance(error, sc.InvalidUsage)
            self.assertEqual((error.code, error.rank, error.fatal),
                             (sc.Result.INVALID_USAGE, rank, False))
            self.assertRegex(error.message, "k")
            self.assertIn("INVALID_USAGE", str(error))

    def test_a_bad_argument_of_one_rank(self):
        def body(comm):
            with self.assertRaises(sc.Error) as caught:
                send = sc.SparseVector(9, np.array([5, 1 if comm.rank == 1 else 6]), np.ones(2))
                comm.sparse_allreducev(send)
            return type(caught.exception)

        self.assertEqual(on_ranks(2, body), [sc.InvalidUsage, sc.InvalidArgument])

    def test_an_abort_is_raised_by_later_calls(self):
        comm, = sc.Communicator.init_all(1)
        comm.abort()
        with self.assertRaises(sc.Error):
            comm.sparse_allreduce(values_of(0, N), k=1)
        self.assertNotEqual(comm.async_error, sc.Result.SUCCESS)
        self.assertNotEqual(comm.last_error, "")
        comm.destroy()

    def test_a_deadline(self):
        def body(comm):
            if comm.rank == 1:
                return
            with self.assertRaises(TimeoutError) as caught:
                comm.sparse_allreduce(values_of(0, N), k=1)
            self.assertTrue(caught.exception.fatal)
            self.assertEqual(caught.exception.code, sc.Result.TIMEOUT)

        on_ranks(2, body, sc.Config(timeout_ms=200))

    def test_functions_that_the_library_lacks(self):
        from sparsecoll._library import call
        with self.assertRaisesRegex(sc.InvalidUsage, "without sparsecollNothing"):
            call("sparsecollNothing")


class Ends(Case):
    def test_a_communicator_ends_once(self):
        comm, = sc.Communicator.init_all(1)
        comm.destroy()
        comm.destroy()
        self.assertIsNone(comm.handle)
        with self.assertRaises(sc.InvalidArgument):
            comm.sparse_allreduce(values_of(0, N), k=1)

    def test_an_exception_aborts(self):
        first, second = sc.Communicator.init_all(2)
        with self.assertRaises(KeyError):
            with first:
                raise KeyError
        self.assertIsNone(first.handle)
        with self.assertRaises(sc.RemoteError):
            second.sparse_allreduce(values_of(0, N), k=1)
        second.destroy()

    def test_a_dropped_communicator_warns(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sc.Communicator.init_all(1)
            gc.collect()
        self.assertEqual([w.category for w in caught], [ResourceWarning])
        self.assertIn("rank 0 was not destroyed", str(caught[0].message))


class Queue(Case):
    def test_queued_calls(self):
        def body(comm):
            self.assertTrue(comm.queued)
            outs = [comm.sparse_allreduce(values_of(comm.rank, N, seed=i), k=N) for i in range(9)]
            comm.wait(3)
            first = outs[2].copy()
            comm.synchronize()
            self.assertEqual(comm.async_error, sc.Result.SUCCESS)
            self.assertEqual(comm.sequence, 9)
            return first, outs

        for first, outs in on_ranks(2, body, QUEUED):
            for i, out in enumerate(outs):
                np.testing.assert_array_equal(out, values_of(0, N, seed=i) + values_of(1, N, seed=i))
            np.testing.assert_array_equal(first, outs[2])

    def test_arrays_live_until_the_end_of_the_call(self):
        def body(comm):
            x = values_of(comm.rank, N)
            alive = weakref.ref(x)
            with comm.group() as group:
                group.sparse_allreduce(x, k=3)
            del x, group
            kept = alive() is not None
            comm.synchronize()
            gc.collect()
            return kept, alive() is None

        self.assertEqual(on_ranks(2, body, QUEUED), [(True, True)] * 2)

    def test_what_is_kept_is_bounded(self):
        def body(comm):
            x = values_of(comm.rank, N)
            for _ in range(400):
                comm.sparse_allreduce(x, x, k=3)
                while len(comm._kept) > 250 and comm.async_error != sc.Result.SUCCESS:
                    pass
            self.assertLess(len(comm._kept), 300)
            comm.synchronize()

        on_ranks(1, body, QUEUED)

    def test_errors_of_queued_calls(self):
        def body(comm):
            comm.sparse_allreduce(values_of(0, N), k=5 + comm.rank)
            with self.assertRaises(sc.InvalidUsage):
                comm.synchronize()
            comm.synchronize()

        on_ranks(2, body, QUEUED)

    @unittest.skipUnless(has("sparsecollCommNotify"), "a library without notifications")
    def test_notifications(self):
        def body(comm):
            seen = []
            for blocking in (1, 2):
                comm.sparse_allreduce(values_of(comm.rank, N), k=blocking)
                comm.notify(comm.sequence, lambda *what: seen.append(what))
            comm.synchronize()
            comm.notify(1, lambda *what: seen.append(what))
            comm.synchronize()
            return seen

        for config in (None, QUEUED):
            for seen in on_ranks(2, body, config):
                self.assertEqual(sorted(seen), [(1, 0), (1, 0), (2, 0)])


if __name__ == "__main__":
    unittest.main()
