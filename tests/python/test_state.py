# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Residuals and push-sum states."""

import os
import tempfile
import unittest

import numpy as np

import sparsecoll as sc
from sparsecoll._library import has
from support import Case, allreduce_oracle, on_ranks, values_of

N = 200


class Residuals(Case):
    def test_read_write_scale(self):
        def body(comm):
            residual = sc.Residual(comm, N, "float16")
            values = values_of(0, N)
            residual.write(values)
            residual.scale(0.5)
            np.testing.assert_array_equal(residual.read(), values / 2)
            self.assertEqual(residual.read().dtype, np.float32)
            self.assertNotEqual(residual.pointer(), 0)
            with self.assertRaisesRegex(ValueError, "3 values: expected 200"):
                residual.write(np.zeros(3))
            residual.destroy()
            residual.destroy()
            with self.assertRaises(sc.InvalidArgument):
                residual.read()

        on_ranks(1, body)

    def check_state(self, save, load):
        """A run that is interrupted after two of four steps has the results of one that is not."""
        def steps(comm, residual, numbers):
            return [comm.sparse_allreduce(values_of(comm.rank, N, seed=step), k=9, residual=residual)
                    for step in numbers]

        config = sc.Config(selection="reuse", algorithm="oktopk")
        with tempfile.TemporaryDirectory() as folder:
            def whole(comm):
                residual = sc.Residual(comm, N)
                steps(comm, residual, range(2))
                kept = save(residual, os.path.join(folder, f"r{comm.rank}"))
                return kept, steps(comm, residual, range(2, 4)), residual.read()

            first = on_ranks(2, whole, config)

            def resumed(comm):
                residual = sc.Residual(comm, N)
                load(residual, first[comm.rank][0])
                return None, steps(comm, residual, range(2, 4)), residual.read()

            for one, two in zip(first, on_ranks(2, resumed, config)):
                np.testing.assert_array_equal(one[1], two[1])
                np.testing.assert_array_equal(one[2], two[2])

    def test_files(self):
        def save(residual, path):
            residual.save(path)
            return path

        self.check_state(save, lambda residual, path: residual.load(path))

    @unittest.skipUnless(has("sparsecollResidualSaveTo"), "a library without states in memory")
    def test_states_in_memory(self):
        self.check_state(lambda residual, path: residual.state(),
                         lambda residual, state: residual.load_state(state))

    def test_wrong_files(self):
        def body(comm):
            with self.assertRaises(sc.SystemError) as caught:
                sc.Residual(comm, N).load("/does/not/exist")
            self.assertFalse(caught.exception.fatal and comm.async_error != 0)

        on_ranks(1, body)


class PushSums(Case):
    def run_to_the_mean(self, config):
        def body(comm):
            state = sc.PushSum(comm, N, np.float64, config)
            x = values_of(comm.rank, N, np.float64)
            estimate = np.empty(N)
            # With a delay of 2 a rank may mix in only one of three steps, and each mixing halves the error.
            for _ in range(160):
                self.assertIs(state.step(x, estimate), estimate)
            state.drain(x, estimate)
            return estimate, state.weight

        results = on_ranks(3, body)
        mean = sum(values_of(r, N, np.float64) for r in range(3)) / 3
        self.assertAlmostEqual(sum(weight for _, weight in results), 3)
        for estimate, _ in results:
            np.testing.assert_allclose(estimate, mean, rtol=1e-6, atol=1e-3)

    def test_graphs(self):
        self.run_to_the_mean(None)
        self.run_to_the_mean(sc.PushSumConfig("ring", max_delay=2))
        self.run_to_the_mean(sc.PushSumConfig(
            out_neighbours=lambda rank, nranks, step: [((rank + 1 + step % 2) % nranks, 0.5)]))

    def test_a_graph_that_raises_is_refused(self):
        def body(comm):
            state = sc.PushSum(comm, N, config=sc.PushSumConfig(out_neighbours=lambda *_: 1 / 0))
            with self.assertRaises(sc.InvalidArgument):
                state.step(np.zeros(N, np.float32))

        on_ranks(2, body)

    def test_compressed_gossip_and_files(self):
        with tempfile.TemporaryDirectory() as folder:
            def body(comm):
                config = sc.PushSumConfig("exponential", k=20, mixing=0.5)
                path = os.path.join(folder, str(comm.rank))
                state = sc.PushSum(comm, N, config=config)
                x = values_of(comm.rank, N)
                state.step(x)
                state.save(path)
                again = sc.PushSum(comm, N, config=config)
                again.load(path)
                y = x.copy()
                one, two = state.step(x), again.step(y)
                np.testing.assert_array_equal(one, two)
                np.testing.assert_array_equal(x, y)
                return x

            start = sum(values_of(r, N) for r in range(2))
            np.testing.assert_allclose(sum(on_ranks(2, body)), start, rtol=1e-4, atol=1e-2)


class Moves(Case):
    """Of three ranks the first two go on without the last one."""

    def test_push_sum(self):
        values = [values_of(rank, N, np.float64) for rank in range(3)]

        def body(comm):
            rank = comm.rank
            state = sc.PushSum(comm, N, np.float64, sc.PushSumConfig("ring"))
            x = values[rank].copy()
            for _ in range(3):
                state.step(x)
            if rank == 2:
                return None
            shrunk = comm.shrink([2])
            try:
                with self.assertRaisesRegex(sc.InvalidArgument, "newcomm"):
                    state.move(comm)
                at_move = x.copy(), state.weight
                state.move(shrunk)
                self.assertEqual(state.weight, at_move[1])
                np.testing.assert_array_equal(x, at_move[0])
                comm.destroy()  # the state belongs to the other one
                for _ in range(60):
                    estimate = state.step(x)
                return at_move, (x, state.weight), estimate
            finally:
                shrunk.destroy()

        one, two, _ = on_ranks(3, body)
        x, weight = one[0][0] + two[0][0], one[0][1] + two[0][1]
        self.assertAlmostEqual(one[1][1] + two[1][1], weight, places=12)
        np.testing.assert_allclose(one[1][0] + two[1][0], x, atol=1e-8)
        for _, _, estimate in (one, two):
            np.testing.assert_allclose(estimate, x / weight, atol=1e-8)

    def test_residuals(self):
        def body(comm):
            rank = comm.rank
            residual = sc.Residual(comm, N)
            comm.sparse_allreduce(values_of(rank, N), k=9, residual=residual)
            if rank == 2:
                return None
            before = residual.read()
            shrunk = comm.shrink([2])
            try:
                residual.move(shrunk)
                comm.destroy()
                np.testing.assert_array_equal(residual.read(), before)
                total = shrunk.sparse_allreduce(values_of(rank, N, seed=1), k=9, residual=residual)
                return before, total, residual.read()
            finally:
                shrunk.destroy()

        one, two, _ = on_ranks(3, body)
        total, residuals = allreduce_oracle(
            [values_of(rank, N, seed=1) + got[0] for rank, got in enumerate((one, two))], 9)
        for got, residual in zip((one, two), residuals):
            np.testing.assert_array_equal(got[1], total)
            np.testing.assert_array_equal(got[2], residual)


if __name__ == "__main__":
    unittest.main()
