# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Communicators."""

from __future__ import annotations

import ctypes
import itertools
import os
import traceback
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Type, Union

from sparsecoll import _library as lib
from sparsecoll import _types as t
from sparsecoll._calls import Calls
from sparsecoll._config import Config
from sparsecoll._errors import Error
from sparsecoll._group import Group
from sparsecoll._init import Inits
from sparsecoll._statistics import Stats, Topology
from sparsecoll._types import Result

Done = Callable[[int, Result], None]

# The functions of notify(), by the number that the library passes back. One ctypes function calls
# them all, because a ctypes function must live until it has returned.
_waiting: Dict[int, Done] = {}
_numbers = itertools.count(1)


@t.NOTIFY
def _notice(number: int, sequence: int, result: int) -> None:
    try:
        _waiting.pop(number)(sequence, Result(result))
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()


class Communicator(Calls, Inits):
    """A communicator of P ranks. A rank is a process or a thread of this process.

    The class methods init_* make one. Only one thread at a time may use a communicator. In a `with`
    statement it is destroyed at the end of the block; if an exception leaves the block, it is
    aborted first, so that this rank waits for no other and the others get an error. A communicator
    that is dropped without destroy() is aborted, with a ResourceWarning.

    With Config(blocking=False) verbs only queue their call. Arrays must not change until wait() or
    synchronize(); the communicator keeps them alive until then.
    """

    def __init__(self, handle: int, queued: bool):
        """For the init_* methods: takes over a handle of the C API."""
        super().__init__(handle, queued)
        number = ctypes.c_int()
        self._call("sparsecollCommRank", handle, ctypes.byref(number))
        self.rank: int = number.value
        """The number of this rank, 0 to P - 1."""
        self._call("sparsecollCommCount", handle, ctypes.byref(number))
        self._size = number.value

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self.handle is None:
            return
        if kind is not None:
            self.abort()
            lib.functions["sparsecollCommDestroy"](self.handle)
            self.handle = self._owner = None
        else:
            self.destroy()

    def __del__(self) -> None:
        if getattr(self, "handle", None) is None or warnings is None:
            return
        warnings.warn(f"a communicator of rank {getattr(self, 'rank', '?')} was not destroyed",
                      ResourceWarning, stacklevel=2, source=self)
        lib.functions["sparsecollCommAbort"](self.handle)
        lib.functions["sparsecollCommDestroy"](self.handle)

    @property
    def size(self) -> int:
        """The number of ranks, P."""
        return self._size

    @property
    def last_error(self) -> str:
        """The library's message of the last error; "" if there was none."""
        return lib.last_error(self.handle)

    def split(self, color: int, key: int = 0, config: Optional[Config] = None
              ) -> Optional["Communicator"]:
        """Makes one communicator for each color, of the ranks that passed it. Collective.

        Returns:
            the new communicator; None for SPLIT_NOCOLOR.
        """
        handle = ctypes.c_void_p()
        self._call("sparsecollCommSplit", self.handle, color, key, ctypes.byref(handle),
                   None if config is None else ctypes.byref(config))
        return self._child(handle.value, config) if handle.value else None

    def synchronize(self) -> None:
        """Waits for every queued call; raises the first error that was not raised before."""
        self._call("sparsecollCommSynchronize", self.handle)
        self._kept.clear()

    def wait(self, sequence: int) -> None:
        """Waits for the call with this number and all calls before it."""
        self._call("sparsecollCommWait", self.handle, sequence)
        self._drop(sequence)

    def notify(self, sequence: int, done: Done) -> None:
        """Calls done(sequence, result) once, when the call with this number has ended.

        With blocking=False the thread of the communicator calls it: keep it short. In it every
        function on this communicator is InvalidUsage. An exception in it is printed.
        """
        number = next(_numbers)
        _waiting[number] = done
        try:
            self._call("sparsecollCommNotify", self.handle, sequence, _notice, number)
        except Error:
            _waiting.pop(number, None)
            raise

    def stream_wait(self, stream: int = 0) -> None:
        """Makes a CUDA stream wait for the device work of every call so far."""
        self._call("sparsecollCommStreamWait", self.handle, stream)

    def destroy(self) -> None:
        """Frees the communicator, its residuals and its push-sum states.

        Over MPI, UCX and NCCL all ranks call it, over MPI before MPI_Finalize. If InvalidUsage
        leaves the communicator alive, `handle` is not None."""
        if self.handle is None:
            return
        handle = self.handle
        result = lib.functions["sparsecollCommDestroy"](handle)
        if lib.functions["sparsecollCommRank"](handle, ctypes.byref(ctypes.c_int())) == 0:
            raise lib.error_of(result, lib.last_error(handle), self.rank)
        self.handle = self._owner = None
        self._kept.clear()
        if result != Result.SUCCESS:
            text = lib.functions["sparsecollGetErrorString"](result).decode()
            raise lib.error_of(result, text, self.rank)

    def abort(self) -> None:
        """Aborts whatever this rank is doing. Any thread may call it."""
        self._call("sparsecollCommAbort", self.handle)

    def stats(self, total: bool = False) -> Stats:
        """Returns statistics of this rank's last verb, or of all verbs so far."""
        struct = t.StatsStruct(ctypes.sizeof(t.StatsStruct), 0x53505354, t.VERSION)
        self._call("sparsecollCommGetStats", self.handle, int(total), ctypes.byref(struct))
        return Stats.of(struct)

    def topology(self) -> Topology:
        """Returns the node and the groups of this rank. Call it on all ranks the first time."""
        struct = t.TopologyStruct(ctypes.sizeof(t.TopologyStruct), 0x5350544F, t.VERSION)
        self._call("sparsecollCommGetTopology", self.handle, ctypes.byref(struct))
        return Topology.of(struct)

    def measure(self) -> None:
        """Measures the network, from which Algo.AUTO predicts costs. Collective."""
        self._call("sparsecollCommMeasure", self.handle)

    def failed(self) -> List[int]:
        """Returns the ranks that are known to be gone."""
        ranks, count = (ctypes.c_int * self.size)(), ctypes.c_int(self.size)
        self._call("sparsecollCommGetFailed", self.handle, ranks, ctypes.byref(count))
        return ranks[: count.value]

    def shrink(self, exclude: Optional[Sequence[int]] = None, config: Optional[Config] = None
               ) -> "Communicator":
        """Makes a communicator of the ranks that are left, in the old order. Collective over them.

        Args:
            exclude: the ranks to leave out; None: those that any of the others knows to be gone
                (not over NCCL, which does not tell).
            config: None: that of this communicator.
        """
        handle = ctypes.c_void_p()
        ranks = None if exclude is None else (ctypes.c_int * len(exclude))(*exclude)
        self._call("sparsecollCommShrink", self.handle, ranks, len(exclude or ()),
                   ctypes.byref(handle), None if config is None else ctypes.byref(config))
        assert handle.value
        return self._child(handle.value, config)

    def _child(self, handle: int, config: Optional[Config]) -> "Communicator":
        comm = Communicator(handle, self.queued if config is None else not config.blocking)
        comm._owner, comm.over_nccl = self._owner, self.over_nccl
        return comm

    def dump(self, path: Union[None, str, "os.PathLike[str]"] = None) -> None:
        """Writes what this rank's last calls did to a file; see docs/errors.md."""
        self._call("sparsecollCommDump", self.handle, None if path is None else os.fsencode(path))

    def group(self) -> Group:
        """Returns a group, for a `with` statement."""
        return Group(self)
