# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Every verb against its definition."""

import unittest

import numpy as np

import sparsecoll as sc
from support import Case, allreduce_oracle, on_ranks, topk, values_of

N, K = 300, 20


def sparse_of(rank, count=N, dtype=np.float32):
    indices = np.flatnonzero(values_of(rank, count, seed=9) % 3 == 0)
    return sc.SparseVector(count, indices, values_of(rank, len(indices), dtype, seed=4))


class Verbs(Case):
    def test_sparse_allreduce_with_error_feedback(self):
        for nranks in (1, 2, 3, 4):
            def body(comm):
                residual = sc.Residual(comm, N)
                got = []
                for step in range(3):
                    x = values_of(comm.rank, N, seed=step)
                    out = comm.sparse_allreduce(x, k=K, residual=residual)
                    got.append((out, residual.read()))
                return got

            results = on_ranks(nranks, body)
            residuals = [np.zeros(N, np.float32)] * nranks
            for step in range(3):
                accs = [values_of(r, N, seed=step) + residuals[r] for r in range(nranks)]
                total, residuals = allreduce_oracle(accs, K)
                for rank in range(nranks):
                    np.testing.assert_array_equal(results[rank][step][0], total)
                    np.testing.assert_array_equal(results[rank][step][1], residuals[rank])

    def test_residuals_keep_what_a_wire_rounds(self):
        for wire in ("bf16", "int8"):
            def body(comm):
                residual = sc.Residual(comm, N)
                x = 1024 * values_of(comm.rank, N) + values_of(comm.rank, N, seed=1)
                out = comm.sparse_allreduce(x, k=N, residual=residual)
                return x, out, residual.read()

            results = on_ranks(3, body, sc.Config(algorithm="oktopk", wire=wire))
            exact = sum(x for x, _, _ in results)
            for _, out, _ in results:
                np.testing.assert_array_equal(out, results[0][1])
                self.assertFalse(np.array_equal(out, exact))
            np.testing.assert_array_equal(results[0][1] + sum(left for _, _, left in results), exact)

    def test_average_in_place_of_every_type(self):
        for dtype in (np.float16, np.float32, np.float64):
            def body(comm):
                x = (values_of(comm.rank, N) % 64).astype(dtype)
                self.assertIs(comm.sparse_allreduce(x, x, k=N, op="avg"), x)
                return x

            expected = (values_of(0, N) % 64 + values_of(1, N) % 64) / 2
            for got in on_ranks(2, body):
                self.assertEqual(got.dtype, dtype)
                np.testing.assert_array_equal(got, expected.astype(dtype))

    def test_gtopk_allreduce(self):
        def body(comm):
            return comm.gtopk_allreduce(values_of(comm.rank, N), k=K)

        merged = [topk(values_of(r, N), K) for r in range(4)]
        expected = topk(topk(merged[0] + merged[1], K) + topk(merged[2] + merged[3], K), K)
        for got in on_ranks(4, body):
            np.testing.assert_array_equal(got, expected)

    def test_sparse_reduce_scatter(self):
        bounds = [0, 100, 100, N]

        def body(comm):
            x = values_of(comm.rank, N)
            return (comm.sparse_reduce_scatter(x, k=K, bounds=bounds), comm.sparse_reduce_scatter(
                x, k=K, op=sc.RedOp.AVG))

        total = sum(topk(values_of(r, N), K) for r in range(3))
        for rank, (own, even) in enumerate(on_ranks(3, body)):
            low, high = bounds[rank], bounds[rank + 1]
            np.testing.assert_array_equal(own.to_dense()[low:high], total[low:high])
            self.assertFalse(own.to_dense()[:low].any() or own.to_dense()[high:].any())
            region = slice(rank * N // 3, (rank + 1) * N // 3)
            np.testing.assert_array_equal(even.to_dense()[region], (total / 3)[region])

    def test_sparse_alltoall(self):
        def body(comm):
            return comm.sparse_alltoall(sparse_of(comm.rank))

        sent = [sparse_of(r) for r in range(3)]
        for rank, (got, counts) in enumerate(on_ranks(3, body)):
            low, high = rank * N // 3, (rank + 1) * N // 3
            parts = [(v.indices >= low) & (v.indices < high) for v in sent]
            self.assertEqual(list(counts), [int(part.sum()) for part in parts])
            for name in ("indices", "values"):
                expected = np.concatenate([getattr(v, name)[p] for v, p in zip(sent, parts)])
                np.testing.assert_array_equal(getattr(got, name), expected)

    def test_sums_in_coordinate_form(self):
        def body(comm):
            send = sparse_of(comm.rank)
            # The first output grows; the second has room.
            return (comm.sparse_allreducev(send, sc.SparseVector(N, capacity=1, index_dtype="uint64")),
                    comm.gtopk_allreducev(send), comm.sparse_allreducev(send, k=5))

        total = sum(sparse_of(r).to_dense() for r in range(3))
        for exact, tree, few in on_ranks(3, body):
            np.testing.assert_array_equal(exact.to_dense(), total)
            np.testing.assert_array_equal(tree.to_dense(), total)
            np.testing.assert_array_equal(few.to_dense(), topk(total, 5))

    def test_sums_of_blocks(self):
        def rows_of(rank):
            rows = np.flatnonzero(values_of(rank, 40, seed=3) % 2 == 0)
            return rows, values_of(rank, 5 * len(rows), seed=6).reshape(-1, 5)

        def body(comm):
            send = sc.SparseVector(40, *rows_of(comm.rank), block_size=5)
            # The first output grows; the second has room.
            small = sc.SparseVector(40, capacity=1, index_dtype="uint64", block_size=5)
            total, tree = comm.sparse_allreducev(send, small), comm.gtopk_allreducev(send)
            np.testing.assert_array_equal(total.values, tree.values)
            self.assertEqual(total.values.shape, (total.nnz, 5))
            part = np.full((10, 5), 7, np.float32)
            region = sc.SparseVector(40, np.array([21, 29]), np.ones((2, 5), np.float32),
                                     block_size=5)
            comm.scatter(region, part, offset=20)
            self.assertEqual(part.sum(axis=1).tolist(), [0, 5] + [0] * 7 + [5])
            return total.to_dense(), comm.scatter(total, np.full((40, 5), 7, np.float32))

        expected = np.zeros((40, 5), np.float32)
        for rank in range(3):
            rows, values = rows_of(rank)
            expected[rows] += values
        for dense, scattered in on_ranks(3, body):
            np.testing.assert_array_equal(dense, expected)
            np.testing.assert_array_equal(scattered, expected)

    def test_blocks_have_a_row_for_each_index(self):
        with self.assertRaisesRegex(ValueError, "2 indices and 5 values in blocks of 3"):
            sc.SparseVector(9, np.array([1, 2]), np.ones(5, np.float32), block_size=3)
        with self.assertRaisesRegex(ValueError, r"shape \(6,\): expected \(2, 3\)"):
            sc.SparseVector(9, np.array([1, 2]), np.ones(6, np.float32), block_size=3)
        with self.assertRaisesRegex(ValueError, "block_size = 0"):
            sc.SparseVector(9, block_size=0)

    def test_integers_and_indices_of_32_bits(self):
        def body(comm):
            mine = np.array([comm.rank, 7], np.uint32), np.array([1, 2**40], np.int64)
            return comm.sparse_allreducev(sc.SparseVector(9, *mine))

        for got in on_ranks(2, body):
            self.assertEqual(got.to_dense().tolist(), [1, 1, 0, 0, 0, 0, 0, 2**41, 0])

    def test_empty_contributions(self):
        def body(comm):
            empty = sc.SparseVector(N, index_dtype="uint64")
            total = comm.sparse_allreducev(sparse_of(0) if comm.rank == 0 else empty)
            nothing, counts = comm.sparse_alltoall(empty)
            none = comm.sparse_allreduce(np.empty(0, np.float32), k=1)
            return total.to_dense(), nothing.nnz, list(counts), none.size

        for total, nnz, counts, size in on_ranks(2, body):
            np.testing.assert_array_equal(total, sparse_of(0).to_dense())
            self.assertEqual((nnz, counts, size), (0, [0, 0], 0))

    def test_topk_and_scatter(self):
        def body(comm):
            x, dense = values_of(5, N), np.full(N, 7, np.float32)
            residual = sc.Residual(comm, x)
            selected = comm.topk(x, K, residual=residual)
            comm.scatter(selected, dense)
            return selected.nnz, dense, residual.read()

        (nnz, dense, rest), = on_ranks(1, body)
        np.testing.assert_array_equal(dense, topk(values_of(5, N), K))
        np.testing.assert_array_equal(rest, values_of(5, N) - dense)
        self.assertEqual(nnz, K)


class Groups(Case):
    def test_a_group_gives_what_single_calls_give(self):
        def body(comm):
            x, y = values_of(comm.rank, N), values_of(comm.rank, 50, np.float64)
            with comm.group() as group:
                a = group.sparse_allreduce(x, k=K)
                b = group.gtopk_allreduce(y, k=3)
                region = group.sparse_reduce_scatter(x, sc.SparseVector(N, capacity=1), k=K)
                total = group.sparse_allreducev(sparse_of(comm.rank), sc.SparseVector(
                    N, index_dtype="uint64"))
            self.assertEqual(comm.sequence, 1)
            return [(a, comm.sparse_allreduce(x, k=K)), (b, comm.gtopk_allreduce(y, k=3)),
                    (region.to_dense(), comm.sparse_reduce_scatter(x, k=K).to_dense()),
                    (total.to_dense(), comm.sparse_allreducev(sparse_of(comm.rank)).to_dense())]

        for pairs in on_ranks(2, body):
            for grouped, single in pairs:
                self.assertTrue(grouped.any())
                np.testing.assert_array_equal(grouped, single)

    def test_an_exception_voids_the_group_on_all_ranks(self):
        def body(comm):
            x, out = values_of(comm.rank, N), np.full(N, 7, np.float32)
            try:
                with comm.group() as group:
                    group.sparse_allreduce(x, out, k=K)
                    if comm.rank == 1:
                        raise KeyError("of the user")
            except (KeyError, sc.InvalidUsage) as error:
                self.assertTrue((out == 7).all())
                comm.sparse_allreduce(x, out, k=K)  # the communicator stays usable
                return type(error)
            return None

        self.assertEqual(on_ranks(2, body), [sc.InvalidUsage, KeyError])

    def test_a_group_ends_once(self):
        def body(comm):
            group = comm.group()
            group.end()
            for use in (group.end, lambda: group.sparse_allreduce(values_of(0, N), k=1)):
                with self.assertRaisesRegex(sc.InvalidUsage, "has ended"):
                    use()

        on_ranks(1, body)


class Settings(Case):
    def test_splits_and_configurations(self):
        def body(comm):
            part = comm.split(comm.rank % 2, key=-comm.rank, config=sc.Config(algorithm="oktopk"))
            none = comm.split(sc.SPLIT_NOCOLOR)
            with part:
                part.sparse_allreduce(values_of(0, N), k=K)
                return part.rank, part.size, none, part.stats().algorithm, part.stats(True).bytes_sent

        for rank, (new, size, none, algorithm, sent) in enumerate(on_ranks(4, body)):
            self.assertEqual((new, size, none), (1 - rank // 2, 2, None))
            self.assertEqual(algorithm, sc.Algo.OKTOPK)
            self.assertGreater(sent, 0)

    def test_topology(self):
        places = on_ranks(2, lambda comm: comm.topology())
        for place in places:
            self.assertEqual(len(place.group), len(place.groups))
            self.assertEqual(place.groups[0] * place.ranks[0], 2)
            self.assertGreaterEqual(place.threads, 1)

    def test_wrong_settings(self):
        with self.assertRaisesRegex(TypeError, "no field 'algoritm'"):
            sc.Config(algoritm=1)
        with self.assertRaisesRegex(ValueError, "expected one of auto, allgather"):
            sc.Config(algorithm="best")
        with self.assertRaises(sc.InvalidArgument):
            sc.Communicator.init_all(2, config=sc.Config(timeout_ms=-5))
        self.assertIn("dense_below=9", repr(sc.Config(dense_below=9)))

    def test_version(self):
        self.assertEqual(sc.version(), 100)


if __name__ == "__main__":
    unittest.main()
