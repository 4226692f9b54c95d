# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Communicators from an ncclComm_t, on the stand-in for NCCL and the emulated devices."""

import gc
import time
import unittest
import weakref
from unittest import mock

import numpy as np

import sparsecoll as sc
from emulated import DeviceArray, new_stream, on_nccl_ranks, with_communicator
from support import Case, allreduce_oracle, values_of

N, K, RANKS = 300, 20, 3


class Owner:
    """What owns an ncclComm_t."""


class FromNccl(Case):
    def test_results_are_those_of_the_definition(self):
        expected, residuals = allreduce_oracle([values_of(rank, N) for rank in range(RANKS)], K)
        for blocking in (True, False):
            def body(comm):
                stream = new_stream()
                send = DeviceArray(values_of(comm.rank, N), stream)
                out = DeviceArray(np.zeros(N, np.float32), stream)
                residual = sc.Residual(comm, send)
                comm.sparse_allreduce(send, out, k=K, residual=residual)
                comm.stream_wait(stream)
                np.testing.assert_array_equal(out.read(), expected)
                np.testing.assert_array_equal(residual.read(), residuals[comm.rank])

            with self.subTest(blocking=blocking):
                on_nccl_ranks(RANKS, with_communicator(body, sc.Config(blocking=blocking)))

    def test_ranks_are_those_of_nccl(self):
        def body(comm):
            self.assertTrue(comm.over_nccl)
            half = comm.split(comm.rank % 2)
            self.assertTrue(half.over_nccl)
            half.destroy()
            return comm.rank, comm.size

        self.assertEqual(on_nccl_ranks(RANKS, with_communicator(body)),
                         [(rank, RANKS) for rank in range(RANKS)])

    def test_another_number_of_ranks(self):
        def body(_rank, nccl):
            with self.assertRaises(sc.InvalidUsage) as caught:
                sc.Communicator.init_nccl(nccl, sc.Config(expected_ranks=RANKS + 1))
            return caught.exception.message

        for message in on_nccl_ranks(RANKS, body):
            self.assertRegex(message, "expected 4 ranks, got 3")

    def test_no_communicator(self):
        with self.assertRaisesRegex(sc.InvalidArgument, "expected a communicator, got NULL"):
            sc.Communicator.init_nccl(0)

    def test_what_nccl_cannot_do(self):
        def body(comm):
            with self.assertRaisesRegex(sc.Error, "NCCL"):
                comm.sparse_allreduce(values_of(comm.rank, N), k=K)

        on_nccl_ranks(RANKS, with_communicator(body))

        def skip(_rank, nccl):
            with self.assertRaisesRegex(sc.InvalidArgument, "nonFinite"):
                sc.Communicator.init_nccl(nccl, sc.Config(non_finite="skip"))

        on_nccl_ranks(RANKS, skip)

    def test_the_owner_lives_as_long_as_the_communicator(self):
        def body(_rank, nccl):
            owner = Owner()
            alive = weakref.ref(owner)
            comm = sc.Communicator.init_nccl(nccl, owner=owner)
            del owner
            gc.collect()
            self.assertIsNotNone(alive())
            comm.destroy()
            gc.collect()
            self.assertIsNone(alive())

        on_nccl_ranks(1, body)

    def test_a_caller_that_never_waits(self):
        """The communicator drops arrays once their stream waits for the work on the device."""
        def body(comm):
            stream = new_stream()
            arrays = [DeviceArray(np.full(8, comm.rank + i, np.float32), stream) for i in range(3)]
            for step in range(257):
                each = arrays[step % 3]
                comm.sparse_allreduce(each, each, k=8, op="avg")
            while comm.async_error == sc.Result.IN_PROGRESS:
                time.sleep(0.01)
            self.assertEqual(len(comm._kept), 257)
            with mock.patch.object(comm, "_call", wraps=comm._call) as called:
                comm._drop_if_idle()
            called.assert_any_call("sparsecollCommStreamWait", comm.handle, stream)
            self.assertEqual(len(comm._kept), 0)
            return [float(each.read()[0]) for each in arrays]

        results = on_nccl_ranks(2, with_communicator(body, sc.Config(blocking=False)))
        self.assertEqual(results, [[0.5, 1.5, 2.5]] * 2)


if __name__ == "__main__":
    unittest.main()
