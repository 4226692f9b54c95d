# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Enumerations and structs of the C API (sparsecoll.h), with names in Python's style.

The fields of a struct are those of C in the same order. tests/python/layout.c checks the layout.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Type, TypeVar, Union


class Result(enum.IntEnum):
    """The result of every function of the library."""

    SUCCESS = 0
    UNHANDLED_CUDA_ERROR = 1
    SYSTEM_ERROR = 2
    INTERNAL_ERROR = 3
    INVALID_ARGUMENT = 4
    INVALID_USAGE = 5
    REMOTE_ERROR = 6
    IN_PROGRESS = 7
    TIMEOUT = 8
    TRUNCATED = 9


class DataType(enum.IntEnum):
    """The type of the values."""

    INT32 = 2
    INT64 = 4
    FLOAT16 = 6
    FLOAT32 = 7
    FLOAT64 = 8
    BFLOAT16 = 9


class RedOp(enum.IntEnum):
    """The reduction. AVG is the sum divided by the number of ranks."""

    SUM = 0
    AVG = 4


class IndexType(enum.IntEnum):
    """The type of the indices of a sparse vector."""

    INDEX32 = 0
    INDEX64 = 1


class Algo(enum.IntEnum):
    """The algorithm of sparse_allreduce() and sparse_allreducev(); see docs/algorithms.md."""

    AUTO = 0
    ALLGATHER = 1
    OKTOPK = 2
    TOPK_A2A = 3
    HIERARCHICAL = 4
    DENSE = 5
    SHARDED = 6


class Select(enum.IntEnum):
    """How entries are selected: exactly the k largest, or those above estimated thresholds."""

    EXACT = 0
    REUSE = 1


class ResidualRule(enum.IntEnum):
    """What gtopk_allreduce() leaves in the residual."""

    CONSERVING = 0
    PAPER = 1


class Wire(enum.IntEnum):
    """The format of values in messages."""

    NATIVE = 0
    BF16 = 1
    INT8 = 2


class NonFinite(enum.IntEnum):
    """What a call does with its residuals if values are not finite."""

    KEEP = 0
    SKIP = 1


class GraphKind(enum.IntEnum):
    """The out-neighbours of a rank in a step of push-sum."""

    EXPONENTIAL = 0
    NPEER_EXPONENTIAL = 1
    RING = 2
    BIPARTITE_EXPONENTIAL = 3
    CUSTOM = 4


E = TypeVar("E", bound=enum.IntEnum)


def enum_of(kind: Type[E], value: Union[E, int, str]) -> E:
    """Returns a member of `kind` from itself, its number, or its name in any case."""
    if isinstance(value, str):
        try:
            return kind[value.upper().replace("-", "_")]
        except KeyError:
            names = ", ".join(member.name.lower() for member in kind)
            raise ValueError(f"{value!r} is no {kind.__name__}: expected one of {names}") from None
    return kind(value)


ALL = ctypes.c_size_t(-1).value
"""The `k` of a `v` verb that asks for the exact sum of all entries."""
SPLIT_NOCOLOR = -1
"""The `color` of Communicator.split() for a rank that joins no new communicator."""
DEVICE_HOST = -1
"""The `device` of a configuration that allows host memory only."""
CURRENT_DEVICE = -(2**31)
"""The default `device` of a configuration: the current one, or that of the first buffer."""
VERSION = 100
"""The SPARSECOLL_VERSION of the header that these structs follow."""
MAX_LEVELS = 8
UNIQUE_ID_BYTES = 128


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * UNIQUE_ID_BYTES)]


class SparseStruct(ctypes.Structure):
    """sparsecollSparse_t."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
        ("nnz", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("needed", ctypes.c_size_t),
        ("indices", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("index_type", ctypes.c_int),
        ("datatype", ctypes.c_int),
        ("nnz_on_device", ctypes.c_void_p),
        ("block_size", ctypes.c_size_t),
        ("reserved", ctypes.c_void_p * 3),
    ]


class ConfigStruct(ctypes.Structure):
    """sparsecollConfig_t."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("blocking", ctypes.c_int),
        ("device", ctypes.c_int),
        ("timeout_ms", ctypes.c_int),
        ("algorithm", ctypes.c_int),
        ("selection", ctypes.c_int),
        ("residual_rule", ctypes.c_int),
        ("wire", ctypes.c_int),
        ("repartition_interval", ctypes.c_int),
        ("threshold_interval", ctypes.c_int),
        ("allow_reordered", ctypes.c_int),
        ("allow_sharded", ctypes.c_int),
        ("expected_ranks", ctypes.c_int),
        ("dense_below", ctypes.c_size_t),
        ("non_finite", ctypes.c_int),
    ]


class StatsStruct(ctypes.Structure):
    """sparsecollStats_t."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("algorithm", ctypes.c_int),
        ("bytes_sent", ctypes.c_size_t),
        ("bytes_received", ctypes.c_size_t),
        ("messages_sent", ctypes.c_size_t),
        ("selected", ctypes.c_size_t),
        ("result", ctypes.c_size_t),
        ("select_seconds", ctypes.c_double),
        ("pack_seconds", ctypes.c_double),
        ("exchange_seconds", ctypes.c_double),
        ("reduce_seconds", ctypes.c_double),
        ("abandoned_bytes", ctypes.c_size_t),
        ("skipped", ctypes.c_size_t),
    ]


class TopologyStruct(ctypes.Structure):
    """sparsecollTopology_t."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("levels", ctypes.c_int),
        ("group", ctypes.c_int * MAX_LEVELS),
        ("groups", ctypes.c_int * MAX_LEVELS),
        ("ranks", ctypes.c_int * MAX_LEVELS),
        ("source", ctypes.c_char * 64),
        ("numa_node", ctypes.c_int),
        ("cores", ctypes.c_int),
        ("threads", ctypes.c_int),
    ]


OUT_NEIGHBOURS = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_double), ctypes.c_int)
ALLGATHER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
NOTIFY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int)


class PushSumConfigStruct(ctypes.Structure):
    """sparsecollPushSumConfig_t."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("graph", ctypes.c_int),
        ("peers", ctypes.c_int),
        ("max_delay", ctypes.c_int),
        ("k", ctypes.c_size_t),
        ("mixing", ctypes.c_double),
        ("out_neighbours", OUT_NEIGHBOURS),
        ("user", ctypes.c_void_p),
    ]
