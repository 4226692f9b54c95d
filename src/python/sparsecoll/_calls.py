# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""How a communicator makes calls: errors, outputs that grow, memory of queued calls."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any, Deque, Iterator, Optional, Tuple

from sparsecoll import _library as lib
from sparsecoll._buffers import Buffer, buffer_of, device_tensor, record_use
from sparsecoll._errors import Error, Truncated
from sparsecoll._sparse import SparseVector
from sparsecoll._types import Result
from sparsecoll._verbs import Call, Verbs


def _buffers_in(things: Tuple[Any, ...]) -> Iterator[Buffer]:
    for thing in things:
        if isinstance(thing, Buffer):
            yield thing
        elif isinstance(thing, SparseVector):
            yield from thing._buffers


class Calls(Verbs):
    """The part of a communicator that makes calls."""

    rank: Optional[int] = None

    def __init__(self, handle: int, queued: bool):
        self.handle: Optional[int] = handle
        """The sparsecollComm_t; None after destroy()."""
        self.queued = queued
        """Whether verbs only queue their call."""
        self._kept: Deque[Tuple[int, Any, Optional[int]]] = deque()

    @property
    def sequence(self) -> int:
        """The number of the last collective call, queued or made; 0: none yet."""
        number = ctypes.c_uint64()
        self._call("sparsecollCommGetSequence", self.handle, ctypes.byref(number))
        return number.value

    @property
    def async_error(self) -> Result:
        """The error that poisoned the communicator, IN_PROGRESS while calls are queued, or SUCCESS.

        Any thread may call it."""
        result = ctypes.c_int()
        self._call("sparsecollCommGetAsyncError", self.handle, ctypes.byref(result))
        return Result(result.value)

    def topk(self, dense: Any, k: int, *, residual: Any = None, out: Optional[SparseVector] = None,
             stream: Optional[int] = None) -> SparseVector:
        """Selects the top-k of dense + residual; the residual keeps the rest. Local.

        With an output of blocks it selects blocks."""
        source = buffer_of(dense)
        if out is None:
            out = SparseVector(source.count, capacity=min(k, source.count), dtype=source.datatype,
                               like=device_tensor(dense))
        count = out._blocks_in(source.count)
        self._local("sparsecollTopk", source.pointer, count, k, source.datatype,
                    None if residual is None else residual.handle, ctypes.byref(out._struct),
                    stream=source.stream if stream is None else stream,
                    keep=(source, residual, out))
        return out

    def scatter(self, vector: SparseVector, dense: Any, *, offset: Optional[int] = None,
                stream: Optional[int] = None) -> Any:
        """Fills `dense` with zeros, then writes the entries of the vector. Local.

        Args:
            vector: the entries.
            dense: out: vector.count values, or blocks; with an offset any number.
            offset: the index of the vector that goes to dense[0], if `dense` is a region.
            stream: the CUDA stream of device buffers.
        """
        target = buffer_of(dense, writable=True)
        if target.datatype != vector.datatype:
            raise TypeError(f"values of {vector.datatype.name}, an output of {target.dtype}")
        expected = vector.count * vector.block_size
        if offset is None and target.count != expected:
            raise ValueError(f"an output of {target.count} values: expected {expected}")
        length = vector._blocks_in(target.count)
        where = (target.pointer,) if offset is None else (target.pointer, offset, length)
        self._local("sparsecollScatter" if offset is None else "sparsecollScatterAt",
                    ctypes.byref(vector._struct), *where,
                    stream=target.stream if stream is None else stream, keep=(vector, target))
        return dense

    def fetch(self, recv: SparseVector, counts: Any = None, stream: Optional[int] = None) -> None:
        """Gets the result of the call that just raised Truncated."""
        self._call("sparsecollFetch", ctypes.byref(recv._struct), counts, self.handle,
                   recv._stream if stream is None else stream)

    # For the other modules of the package.

    def _call(self, name: str, *arguments: Any) -> None:
        lib.call(name, *arguments, comm=self.handle, rank=self.rank)

    def _local(self, name: str, *arguments: Any, stream: Optional[int], keep: Any) -> None:
        self._drop_if_idle()
        self._call(name, *arguments, self.handle, stream)
        self._keep(keep, stream)

    def _submit(self, call: Call) -> None:
        self._drop_if_idle()
        try:
            self._call(call.name, *call.arguments, self.handle, call.stream)
        except Truncated as error:
            self._grow(call, error)
        self._keep(call.keep, call.stream)

    def _grow(self, call: Call, error: Error) -> None:
        """Gets the result of a call whose output was too small, if the output can grow."""
        if call.recv is None or not call.recv._grows:
            if isinstance(error, Truncated) and call.recv is not None:
                error.needed = call.recv.needed
            raise error
        call.recv._allocate(call.recv.needed)
        self.fetch(call.recv, call.counts, call.stream)

    def _keep(self, things: Tuple[Any, ...], stream: Optional[int]) -> None:
        """Keeps the objects that a call uses alive: those of a queued call here, and memory that
        another stream than torch's current one uses, in torch."""
        if stream is not None:
            for buffer in _buffers_in(things):
                record_use(buffer, stream)
        if self.queued:
            self._kept.append((self.sequence, things, stream))

    def _drop_if_idle(self) -> None:
        """Drops the kept objects if no call is queued, for a caller that never waits."""
        if len(self._kept) > 256 and self.async_error == Result.SUCCESS:
            # The work of calls on a device may not be done. Their streams wait for it, so that what
            # gets the memory next, in the order of the stream, comes later.
            for stream in {kept[2] for kept in self._kept} - {None}:
                self._call("sparsecollCommStreamWait", self.handle, stream)
            self._kept.clear()

    def _drop(self, sequence: int) -> None:
        while self._kept and self._kept[0][0] <= sequence:
            self._kept.popleft()
