# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of every kind as buffers, and what is refused."""

import array
import unittest

import numpy as np

import sparsecoll as sc
from sparsecoll._buffers import buffer_of
from support import Case, on_ranks, values_of

N = 64


class Exchange:
    """An array with DLPack only."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class OnDevice:
    """An array with CUDA's interface, in host memory, which a build without CUDA cannot tell."""

    def __init__(self, values, stream=None):
        self.values = values
        self.__cuda_array_interface__ = dict(values.__array_interface__, version=3, stream=stream)


class Buffers(Case):
    def test_kinds_of_arrays(self):
        expected = values_of(0, N)
        kinds = {
            "numpy": lambda x: x,
            "matrix": lambda x: x.reshape(8, 8),
            "DLPack": Exchange,
            "CUDA": OnDevice,
            "memoryview": memoryview,
            "array": lambda x: array.array("f", x.tolist()),
        }
        try:
            import torch
            kinds["torch"] = torch.from_numpy
        except ImportError:
            pass
        for name, make in kinds.items():
            with self.subTest(name):
                out = np.zeros(N, np.float32)
                on_ranks(1, lambda comm: comm.sparse_allreduce(make(expected.copy()), out, k=N))
                np.testing.assert_array_equal(out, expected)

    def test_memory_is_used_in_place(self):
        x = np.arange(12.0)
        for each in (x, x[2:5], Exchange(x), Exchange(x[2:5]), memoryview(x), OnDevice(x)):
            buffer = buffer_of(each)
            own = getattr(each, "values", np.asarray(each) if not isinstance(each, Exchange) else 0)
            self.assertEqual(buffer.pointer, own.ctypes.data)
            self.assertEqual((buffer.count, buffer.dtype), (own.size, "float64"))
        self.assertEqual(buffer_of(OnDevice(x, stream=5)).stream, 5)
        self.assertIsNone(buffer_of(x).stream)

    def test_the_types(self):
        for dtype, datatype in (("f2", "FLOAT16"), ("f4", "FLOAT32"), ("f8", "FLOAT64"),
                                ("i4", "INT32"), ("i8", "INT64")):
            for make in (np.asarray, Exchange):
                self.assertEqual(buffer_of(make(np.zeros(3, dtype))).datatype, sc.DataType[datatype])

    def test_what_is_refused(self):
        x = np.zeros((8, 8), np.float32)
        read_only = x.copy()
        read_only.flags.writeable = False
        cases = [
            (ValueError, "contiguous", lambda c: c.sparse_allreduce(x[:, :4], k=1)),
            (ValueError, "contiguous", lambda c: c.sparse_allreduce(Exchange(x.T), k=1)),
            (ValueError, "read-only", lambda c: c.sparse_allreduce(x, read_only, k=1)),
            (ValueError, "64 float32 and an output of 2", lambda c: c.sparse_allreduce(
                x, np.zeros(2, np.float32), k=1)),
            (TypeError, "uint8", lambda c: c.sparse_allreduce(np.zeros(3, np.uint8), k=1)),
            (TypeError, "big-endian", lambda c: c.sparse_allreduce(np.zeros(3, ">f4"), k=1)),
            (TypeError, "list is no array", lambda c: c.sparse_allreduce([1.0], x, k=1)),
            (ValueError, "2 indices and 3 values", lambda c: sc.SparseVector(
                9, np.zeros(2, np.int64), np.zeros(3))),
            (TypeError, "indices of type float64", lambda c: sc.SparseVector(
                9, np.zeros(2), np.zeros(2))),
            (ValueError, "1 bounds", lambda c: c.sparse_reduce_scatter(x, k=1, bounds=[0])),
            (ValueError, "is no RedOp", lambda c: c.sparse_allreduce(x, k=1, op="max")),
        ]

        def body(comm):
            for kind, text, use in cases:
                with self.assertRaisesRegex(kind, text):
                    use(comm)
            self.assertEqual(comm.sequence, 0)

        on_ranks(1, body)

    def test_given_arrays_do_not_grow(self):
        def body(comm):
            send = sc.SparseVector(9, np.array([1, 3, 5]), np.ones(3))
            recv = sc.SparseVector(9, np.zeros(1, np.int64), np.zeros(1))
            with self.assertRaises(sc.Truncated) as caught:
                comm.sparse_allreducev(send, recv)
            self.assertEqual((caught.exception.needed, recv.needed), (3, 3))
            larger = sc.SparseVector(9, capacity=3, dtype="float64", index_dtype="uint64")
            comm.fetch(larger)
            self.assertEqual(larger.indices.tolist(), [1, 3, 5])

        on_ranks(1, body)


if __name__ == "__main__":
    unittest.main()
