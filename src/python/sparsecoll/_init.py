# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""The ways to make a communicator."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Optional, Sequence, Type, TypeVar

from sparsecoll import _library as lib
from sparsecoll import _types as t
from sparsecoll._config import Config
from sparsecoll._errors import Error

C = TypeVar("C", bound="Inits")
Allgather = Callable[[bytes], Sequence[bytes]]


def _reference(config: Optional[Config]) -> Any:
    return None if config is None else ctypes.byref(config)


class Inits:
    """The class methods of Communicator that make one."""

    over_nccl = False
    """Whether messages go over NCCL."""
    _owner: Any = None  # of the ncclComm_t

    def __init__(self, handle: int, queued: bool):
        raise NotImplementedError

    @classmethod
    def init_all(cls: Type[C], nranks: int, devices: Optional[Sequence[int]] = None,
                 config: Optional[Config] = None) -> List[C]:
        """Makes `nranks` communicators whose ranks are threads of this process. Returns a list;
        thread r uses element r. devices: a CUDA device for each; None: that of the
        configuration."""
        handles = (ctypes.c_void_p * max(nranks, 1))()
        places = None if devices is None else (ctypes.c_int * len(devices))(*devices)
        if devices is not None and len(devices) != nranks:
            raise ValueError(f"{len(devices)} devices for {nranks} ranks")
        lib.call("sparsecollCommInitAll", handles, nranks, places, _reference(config))
        return [cls._of(handle, config) for handle in handles]

    @classmethod
    def init_mpi(cls: Type[C], comm: Any = None, config: Optional[Config] = None) -> C:
        """Makes a communicator over the ranks of an MPI communicator. Collective.

        Args:
            comm: a communicator of mpi4py, or the integer of its Fortran handle; None: COMM_WORLD.
                mpi4py and libsparsecoll_mpi.so, which is loaded now, must use the same MPI.
            config: the configuration, the same on all ranks.
        """
        if comm is None:
            from mpi4py import MPI  # pylint: disable=import-outside-toplevel
            comm = MPI.COMM_WORLD
        number = comm if isinstance(comm, int) else comm.py2f()
        handle = ctypes.c_void_p()
        lib.call("sparsecollCommInitMpiFint", ctypes.byref(handle), number, _reference(config))
        return cls._of(handle.value, config)

    @classmethod
    def init_nccl(cls: Type[C], nccl: int, config: Optional[Config] = None, *,
                  owner: Any = None) -> C:
        """Makes a communicator over the ranks of an ncclComm_t. Collective.

        All buffers must be in memory of its CUDA device. The library splits a communicator of its
        own from the ncclComm_t, which remains its owner's: the library never destroys it. Destroy
        this communicator first, since a failure can affect both (docs/devices.md, Failures).

        Args:
            nccl: the address of the ncclComm_t, for example from the `_comm_ptr()` of a backend of
                torch. It must be idle.
            config: the configuration, the same on all ranks. With expected_ranks an ncclComm_t of
                another number of ranks is InvalidUsage.
            owner: an object that owns the ncclComm_t. It is kept alive until destroy().
        """
        handle = ctypes.c_void_p()
        lib.call("sparsecollCommInitNccl", ctypes.byref(handle), nccl, _reference(config))
        comm = cls._of(handle.value, config)
        comm._owner, comm.over_nccl = owner, True
        return comm

    @classmethod
    def init_rank(cls: Type[C], nranks: int, unique_id: bytes, rank: int,
                  config: Optional[Config] = None) -> C:
        """Makes a communicator of the ranks that pass the same id, over UCX. Collective.

        Args:
            nranks: P.
            unique_id: what unique_id() returned in one process, brought here by any means.
            rank: the number of this rank.
            config: the configuration, the same on all ranks.
        """
        if len(unique_id) != t.UNIQUE_ID_BYTES:
            raise ValueError(f"an id of {len(unique_id)} bytes: expected {t.UNIQUE_ID_BYTES}")
        handle = ctypes.c_void_p()
        number = t.UniqueId.from_buffer_copy(unique_id)
        lib.call("sparsecollCommInitRank", ctypes.byref(handle), nranks, number, rank,
                 _reference(config))
        return cls._of(handle.value, config)

    @classmethod
    def init_oob(cls: Type[C], nranks: int, rank: int, allgather: Allgather,
                 config: Optional[Config] = None) -> C:
        """Makes a communicator like init_rank(); the ranks find each other through a function.

        Args:
            nranks: P.
            rank: the number of this rank.
            allgather: takes the bytes of this rank and returns those of all ranks, by rank, all of
                one length. It is called a few times before the function returns.
            config: the configuration, the same on all ranks.
        """
        failures: List[BaseException] = []

        def gather(_user: Any, mine: int, everything: int, length: int) -> int:
            try:
                parts = list(allgather(ctypes.string_at(mine, length)))
                if len(parts) != nranks or any(len(part) != length for part in parts):
                    raise ValueError(f"allgather returned {[len(part) for part in parts]} bytes: "
                                     f"expected {nranks} times {length}")
                ctypes.memmove(everything, b"".join(parts), nranks * length)
                return 0
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)
                return 1

        handle = ctypes.c_void_p()
        callback = t.ALLGATHER(gather)
        try:
            lib.call("sparsecollCommInitOob", ctypes.byref(handle), nranks, rank, callback, None,
                     _reference(config))
        except Error as error:
            raise error from (failures[0] if failures else None)
        return cls._of(handle.value, config)

    @classmethod
    def _of(cls: Type[C], handle: Optional[int], config: Optional[Config]) -> C:
        assert handle is not None
        return cls(handle, config is not None and not config.blocking)


def unique_id() -> bytes:
    """Returns the id of a communicator that is to be made, for Communicator.init_rank().

    One process calls it, which must live until all ranks are initialised, and brings the id to all
    ranks. Whoever knows the id can join."""
    number = t.UniqueId()
    lib.call("sparsecollGetUniqueId", ctypes.byref(number))
    return bytes(number)
