# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""State that lives between calls: residuals and push-sum states."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

import numpy as np

from sparsecoll._buffers import accumulation_dtype, buffer_of, datatype_of, empty_like
from sparsecoll._communicator import Communicator
from sparsecoll._config import PushSumConfig

Path = Union[str, "os.PathLike[str]"]


class _State:
    """A handle of the C API that a communicator owns.

    It is freed by destroy(), or with the communicator. (There is no __del__: the garbage collector
    may run in any thread, but only one thread at a time may use a communicator.)
    """

    _kind = ""  # in names of functions

    def __init__(self, comm: Communicator, count: int, dtype: Any):
        self._comm = comm
        self.count = count
        """The number of values."""
        self.datatype = datatype_of(dtype)
        """The type of the tensor."""
        self.handle: Optional[int] = None
        """The handle of the C API; None after destroy()."""

    def _call(self, name: str, *arguments: Any) -> None:
        self._comm._call(f"sparsecoll{self._kind}{name}", *arguments)

    def destroy(self) -> None:
        """Frees the state. Waits for queued calls."""
        if self.handle is not None:
            self._call("Destroy", self.handle)
            self.handle = None

    def save(self, path: Path) -> None:
        """Writes the state to this rank's own file. It replaces the old file only when it is
        complete."""
        self._call("Save", self.handle, os.fsencode(path))

    def load(self, path: Path) -> None:
        """Restores what save() wrote. All ranks must call it, with files of one step."""
        self._call("Load", self.handle, os.fsencode(path))

    def move(self, comm: Communicator) -> None:
        """Moves the state to a communicator that Communicator.shrink() made of the state's own."""
        self._call("Move", self.handle, comm.handle)
        self._comm = comm

    def state(self) -> bytes:
        """Returns the bytes that save() would write."""
        size = ctypes.c_size_t()
        self._call("SaveTo", self.handle, None, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call("SaveTo", self.handle, buffer, ctypes.byref(size))
        return buffer.raw[: size.value]

    def load_state(self, state: bytes) -> None:
        """Restores what state() returned, or the bytes of a file of save()."""
        self._call("LoadFrom", self.handle, state, len(state))


class Residual(_State):
    """The error-feedback state of one tensor on one rank; zeros at first.

    Args:
        comm: the communicator that uses and owns it.
        count: number of values of the tensor, or a tensor.
        dtype: the type of the tensor, if `count` is a number. A residual holds float32 for 16-bit
            types.
    """

    _kind = "Residual"

    def __init__(self, comm: Communicator, count: Any, dtype: Any = np.float32):
        if not isinstance(count, int):
            buffer = buffer_of(count)
            count, dtype = buffer.count, buffer.datatype
        super().__init__(comm, count, dtype)
        handle = ctypes.c_void_p()
        self._call("Create", ctypes.byref(handle), count, self.datatype, comm.handle)
        self.handle = handle.value

    def read(self) -> np.ndarray:
        """Returns a copy of the values."""
        values = np.empty(self.count, dtype=accumulation_dtype(self.datatype))
        self._call("Read", self.handle, values.ctypes.data)
        return values

    def write(self, values: Any) -> None:
        """Replaces the values by those of an array in host memory."""
        array = np.ascontiguousarray(values, dtype=accumulation_dtype(self.datatype))
        if array.size != self.count:
            raise ValueError(f"{array.size} values: expected {self.count}")
        self._call("Write", self.handle, array.ctypes.data)

    def scale(self, factor: float) -> None:
        """Multiplies the values by `factor`. With 0 all values become 0, including NaN."""
        self._call("Scale", self.handle, factor)

    def pointer(self) -> int:
        """Returns the address of the values, valid until the next call that uses the residual."""
        address = ctypes.c_void_p()
        self._call("Pointer", self.handle, ctypes.byref(address))
        return address.value or 0


class PushSum(_State):
    """The push-sum state of one tensor on one rank: weight, step counter, messages in flight.

    Args:
        comm: the communicator that uses and owns it. Collective: all ranks make the state.
        count: number of values of the tensor, or a tensor.
        dtype: the type of the tensor, if `count` is a number.
        config: None: the exponential graph, no delay, all values sent.
    """

    _kind = "PushSum"

    def __init__(self, comm: Communicator, count: Any, dtype: Any = np.float32,
                 config: Optional[PushSumConfig] = None):
        if not isinstance(count, int):
            buffer = buffer_of(count)
            count, dtype = buffer.count, buffer.datatype
        super().__init__(comm, count, dtype)
        self._config = config
        handle = ctypes.c_void_p()
        self._call("Create", ctypes.byref(handle), count, self.datatype,
                   None if config is None else ctypes.byref(config), comm.handle)
        self.handle = handle.value

    def step(self, x: Any, estimate: Any = None, stream: Optional[int] = None) -> Any:
        """Makes one step: sends shares of (x, weight) to the out-neighbours and adds the shares
        that it receives.

        Args:
            x: the numerator, in and out.
            estimate: out: x / weight; None: a new array.
            stream: the CUDA stream of device buffers.

        Returns:
            estimate.
        """
        target, result, where, stream = self._buffers(x, estimate, stream)
        comm = self._comm
        comm._drop_if_idle()
        comm._call("pushSumStep", target.pointer, where.pointer, target.count, target.datatype,
                   self.handle, comm.handle, stream)
        comm._keep((target, where), stream)
        return result

    def drain(self, x: Any, estimate: Any = None, stream: Optional[int] = None) -> Any:
        """Adds all messages in flight to x and the weight; returns the estimate. Collective."""
        target, result, where, stream = self._buffers(x, estimate, stream)
        if target.count != self.count or target.datatype != self.datatype:
            raise ValueError(f"{target.count} {target.dtype}: expected {self.count} "
                             f"{self.datatype.name.lower()}")
        self._call("Drain", self.handle, target.pointer, where.pointer, stream)
        self._comm._keep((target, where), stream)
        return result

    @property
    def weight(self) -> float:
        """This rank's weight; waits for queued calls."""
        value = ctypes.c_double()
        self._call("Weight", self.handle, ctypes.byref(value))
        return value.value

    @staticmethod
    def _buffers(x: Any, estimate: Any, stream: Optional[int]) -> Any:
        result = empty_like(x) if estimate is None else estimate
        target, where = buffer_of(x, writable=True), buffer_of(result, writable=True)
        if where.count != target.count or where.dtype != target.dtype:
            raise ValueError(f"x of {target.count} {target.dtype} and an estimate of "
                             f"{where.count} {where.dtype}")
        return target, result, where, target.stream if stream is None else stream
