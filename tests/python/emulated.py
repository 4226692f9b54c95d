# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Memory, streams and communicators of a GPU that is not there.

SPARSECOLL_LIBRARY names a library that contains the emulator of tests/simt and the stand-in for
NCCL of tests/nccl. Ranks are threads; each has a device of its own. The memory can be read and
written by copies only.
"""

import ctypes

import numpy as np

import sparsecoll as sc
from sparsecoll._library import library
from support import on_threads

DEVICES = 16


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = [("internal", ctypes.c_char * 128)]


_HANDLE = ctypes.POINTER(ctypes.c_void_p)
library.emulated_allocate.argtypes = [_HANDLE, ctypes.c_size_t]
library.emulated_to_device.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
library.emulated_to_host.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
library.emulated_new_stream.argtypes = [_HANDLE]
library.emulated_wait.argtypes = [ctypes.c_void_p]
library.ncclCommInitRank.argtypes = [_HANDLE, ctypes.c_int, UniqueId, ctypes.c_int]


def check(result):
    if result != 0:
        raise RuntimeError(f"result {result} of the emulator")


def new_stream():
    """Returns a cudaStream_t of the thread's device. It does not wait for the legacy stream."""
    stream = ctypes.c_void_p()
    check(library.emulated_new_stream(ctypes.byref(stream)))
    return stream.value


class DeviceArray:
    """An array in memory of the thread's device. It is never freed."""

    def __init__(self, values, stream=None):
        values = np.ascontiguousarray(values)
        address = ctypes.c_void_p()
        check(library.emulated_allocate(ctypes.byref(address), max(values.nbytes, 1)))
        self.address, self.shape, self.dtype = address.value, values.shape, values.dtype
        self.stream = stream
        self.put(values)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False),
                "version": 3, "stream": self.stream}

    def put(self, values):
        values = np.ascontiguousarray(values, dtype=self.dtype)
        check(library.emulated_to_device(self.address, values.ctypes.data, values.nbytes))

    def read(self):
        """Returns the values after the work on the array's stream."""
        if self.stream is not None:
            check(library.emulated_wait(self.stream))
        values = np.empty(self.shape, self.dtype)
        check(library.emulated_to_host(values.ctypes.data, self.address, values.nbytes))
        return values


def on_nccl_ranks(nranks, body):
    """Calls body(rank, address of its ncclComm_t) on threads, and returns the results by rank.
    Raises the first error. The ranks have devices of their own."""
    unique = UniqueId()
    check(library.ncclGetUniqueId(ctypes.byref(unique)))

    def run(rank):
        check(library.emulated_set_device(rank % DEVICES))
        nccl = ctypes.c_void_p()
        check(library.ncclCommInitRank(ctypes.byref(nccl), nranks, unique, rank))
        return body(rank, nccl.value)

    return on_threads(nranks, run)


def with_communicator(body, config=None, **options):
    """Returns a function for on_nccl_ranks() that calls body(comm)."""
    def run(_rank, nccl):
        with sc.Communicator.init_nccl(nccl, config, **options) as comm:
            return body(comm)

    return run
