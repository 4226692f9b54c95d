# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs, which a communicator makes at once and a group records."""

from __future__ import annotations

import ctypes
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

from sparsecoll import _types as t
from sparsecoll._buffers import Buffer, buffer_of, device_tensor, empty_like
from sparsecoll._sparse import SparseVector
from sparsecoll._types import RedOp, enum_of

Op = Union[RedOp, str]


class Call(NamedTuple):
    """A call of a verb without its last arguments, the communicator and the stream."""

    name: str
    arguments: Tuple[Any, ...]
    stream: Optional[int]
    recv: Optional[SparseVector]  # an output that may have to grow
    counts: Any  # recvcounts of sparseAlltoall, or None
    keep: Tuple[Any, ...]  # objects that must live until the call is done


def _pair(send: Any, recv: Any) -> Tuple[Any, Buffer, Buffer]:
    """Returns the output and both buffers. Lengths and types must agree."""
    source = buffer_of(send)
    if recv is None:
        recv = empty_like(send)
    target = buffer_of(recv, writable=True)
    if source.count != target.count or source.dtype != target.dtype:
        raise ValueError(f"an input of {source.count} {source.dtype} and an output of "
                         f"{target.count} {target.dtype}")
    return recv, source, target


def _handle(residual: Any) -> Optional[int]:
    return None if residual is None else residual.handle


class Verbs:
    """The verbs of the library. docs/semantics.md defines them.

    Arrays are contiguous: of numpy or torch, or with `__dlpack__` or `__cuda_array_interface__`. An
    output that is None becomes a new array like the input. A `stream` that is None is that of the
    array: torch's current one, or the legacy default stream.
    """

    def _submit(self, call: Call) -> None:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of ranks."""
        raise NotImplementedError

    def sparse_allreduce(self, send: Any, recv: Any = None, *, k: int, op: Op = RedOp.SUM,
                         residual: Any = None, stream: Optional[int] = None) -> Any:
        """Sums the ranks' top-k entries and returns the top-k of the sum, dense in, dense out.

        Args:
            send: the values of this rank.
            recv: out; may be `send`.
            k: number of entries to keep.
            op: "sum" or "avg".
            residual: a Residual of the same length and type; None: no error feedback.
            stream: of device buffers.

        Returns:
            recv.
        """
        return self._dense("sparseAllreduce", send, recv, k, op, residual, stream)

    def gtopk_allreduce(self, send: Any, recv: Any = None, *, k: int, op: Op = RedOp.SUM,
                        residual: Any = None, stream: Optional[int] = None) -> Any:
        """Computes a global top-k by a tree of merges. Arguments as for sparse_allreduce()."""
        return self._dense("gtopkAllreduce", send, recv, k, op, residual, stream)

    def _dense(self, name: str, send: Any, recv: Any, k: int, op: Op, residual: Any,
               stream: Optional[int]) -> Any:
        recv, source, target = _pair(send, recv)
        arguments = (source.pointer, target.pointer, source.count, k, source.datatype,
                     enum_of(RedOp, op), _handle(residual))
        stream = source.stream if stream is None else stream
        self._submit(Call(name, arguments, stream, None, None, (source, target, residual)))
        return recv

    def sparse_reduce_scatter(self, send: Any, recv: Optional[SparseVector] = None, *, k: int,
                              op: Op = RedOp.SUM, bounds: Optional[Sequence[int]] = None,
                              residual: Any = None, stream: Optional[int] = None) -> SparseVector:
        """Sums the ranks' top-k entries and gives each rank its region of the sum.

        Args:
            send: the values of this rank.
            recv: out; None: a new vector. With a vector of blocks, each rank selects blocks.
            k: number of entries that each rank selects.
            op: "sum" or "avg".
            bounds: P + 1 bounds of the regions; None: regions of equal length.
            residual: a Residual of the same length and type, or None.
            stream: of device buffers.

        Returns:
            recv, with indices of the whole vector.
        """
        source = buffer_of(send)
        if recv is None:
            recv = SparseVector(source.count, capacity=min(k, source.count), dtype=source.datatype,
                                like=device_tensor(send))
        regions = self._bounds(bounds)
        count = recv._blocks_in(source.count)
        arguments = (source.pointer, ctypes.byref(recv._struct), count, k, source.datatype,
                     enum_of(RedOp, op), regions, _handle(residual))
        stream = source.stream if stream is None else stream
        self._submit(Call("sparseReduceScatter", arguments, stream, recv, None,
                          (source, recv, regions, residual)))
        return recv

    def sparse_alltoall(self, send: SparseVector, recv: Optional[SparseVector] = None, *,
                        bounds: Optional[Sequence[int]] = None, stream: Optional[int] = None
                        ) -> Tuple[SparseVector, List[int]]:
        """Sends every entry to the rank that owns its index.

        Returns:
            recv, ordered by source rank and, for each source, by index; and the number of entries
            from each rank, a sequence that is complete when the call is.
        """
        recv = send._like(send.nnz) if recv is None else recv
        counts = (ctypes.c_size_t * self.size)()
        regions = self._bounds(bounds)
        arguments = (ctypes.byref(send._struct), ctypes.byref(recv._struct), counts, regions)
        stream = send._stream if stream is None else stream
        self._submit(Call("sparseAlltoall", arguments, stream, recv, counts,
                          (send, recv, counts, regions)))
        return recv, counts  # type: ignore[return-value]

    def sparse_allreducev(self, send: SparseVector, recv: Optional[SparseVector] = None, *,
                          k: int = t.ALL, op: Op = RedOp.SUM, residual: Any = None,
                          stream: Optional[int] = None) -> SparseVector:
        """Sums sparse vectors and returns the top-k of the sum; with ALL the exact sum.

        Args:
            send: the entries of this rank; nnz may differ between ranks and may be 0.
            recv: out; None: a new vector.
            k: number of entries to keep, or ALL.
            op: "sum" or "avg".
            residual: gets the entries of `send` outside the result; None: they are dropped.
            stream: of device buffers.
        """
        return self._sparse("sparseAllreducev", send, recv, k, op, residual, stream)

    def gtopk_allreducev(self, send: SparseVector, recv: Optional[SparseVector] = None, *,
                         k: int = t.ALL, op: Op = RedOp.SUM, residual: Any = None,
                         stream: Optional[int] = None) -> SparseVector:
        """Computes a global top-k by a tree of merges. Arguments as for sparse_allreducev()."""
        return self._sparse("gtopkAllreducev", send, recv, k, op, residual, stream)

    def _sparse(self, name: str, send: SparseVector, recv: Optional[SparseVector], k: int, op: Op,
                residual: Any, stream: Optional[int]) -> SparseVector:
        if recv is None:
            recv = send._like(min(send.nnz * self.size if k == t.ALL else k, send.count))
        arguments = (ctypes.byref(send._struct), ctypes.byref(recv._struct), k, enum_of(RedOp, op),
                     _handle(residual))
        stream = send._stream if stream is None else stream
        self._submit(Call(name, arguments, stream, recv, None, (send, recv, residual)))
        return recv

    def _bounds(self, bounds: Optional[Sequence[int]]) -> Any:
        if bounds is None:
            return None
        if len(bounds) != self.size + 1:
            raise ValueError(f"{len(bounds)} bounds: expected {self.size + 1}")
        return (ctypes.c_size_t * len(bounds))(*bounds)
