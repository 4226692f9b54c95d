# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Loads libsparsecoll.so and declares its functions."""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any, Dict, List, Optional

from sparsecoll import _types as t
from sparsecoll._errors import InvalidUsage, error_of
from sparsecoll._types import Result

_P = ctypes.c_void_p
_SIZE = ctypes.c_size_t
_INT = ctypes.c_int
_U64 = ctypes.c_uint64
_SPARSE = ctypes.POINTER(t.SparseStruct)
_CONFIG = ctypes.POINTER(t.ConfigStruct)
_SIZES = ctypes.POINTER(ctypes.c_size_t)
_HANDLES = ctypes.POINTER(ctypes.c_void_p)
_INTS = ctypes.POINTER(ctypes.c_int)
_PATH = ctypes.c_char_p
_DENSE_VERB: List[Any] = [_P, _P, _SIZE, _SIZE, _INT, _INT, _P, _P, _P]
_SPARSE_VERB: List[Any] = [_SPARSE, _SPARSE, _SIZE, _INT, _P, _P, _P]

# The arguments of every function. All of them return a sparsecollResult_t, except the two texts.
PROTOTYPES: Dict[str, List[Any]] = {
    "sparsecollConfigInit": [_CONFIG, _SIZE],
    "sparsecollStatsInit": [ctypes.POINTER(t.StatsStruct), _SIZE],
    "sparsecollTopologyInit": [ctypes.POINTER(t.TopologyStruct), _SIZE],
    "sparsecollSparseInit": [_SPARSE, _SIZE],
    "sparsecollPushSumConfigInit": [ctypes.POINTER(t.PushSumConfigStruct), _SIZE],
    "sparsecollCommInitAll": [_HANDLES, _INT, _INTS, _CONFIG],
    "sparsecollGetUniqueId": [ctypes.POINTER(t.UniqueId)],
    "sparsecollCommInitRank": [_HANDLES, _INT, t.UniqueId, _INT, _CONFIG],
    "sparsecollCommInitOob": [_HANDLES, _INT, _INT, t.ALLGATHER, _P, _CONFIG],
    "sparsecollCommInitMpiFint": [_HANDLES, _INT, _CONFIG],
    "sparsecollCommInitNccl": [_HANDLES, _P, _CONFIG],
    "sparsecollCommSplit": [_P, _INT, _INT, _HANDLES, _CONFIG],
    "sparsecollCommRank": [_P, _INTS],
    "sparsecollCommCount": [_P, _INTS],
    "sparsecollCommGetSequence": [_P, ctypes.POINTER(_U64)],
    "sparsecollCommSynchronize": [_P],
    "sparsecollCommWait": [_P, _U64],
    "sparsecollCommNotify": [_P, _U64, t.NOTIFY, _P],
    "sparsecollCommStreamWait": [_P, _P],
    "sparsecollCommDestroy": [_P],
    "sparsecollCommAbort": [_P],
    "sparsecollCommGetAsyncError": [_P, _INTS],
    "sparsecollCommGetStats": [_P, _INT, ctypes.POINTER(t.StatsStruct)],
    "sparsecollCommGetTopology": [_P, ctypes.POINTER(t.TopologyStruct)],
    "sparsecollCommMeasure": [_P],
    "sparsecollCommGetFailed": [_P, _INTS, _INTS],
    "sparsecollCommShrink": [_P, _INTS, _INT, _HANDLES, _CONFIG],
    "sparsecollCommDump": [_P, _PATH],
    "sparsecollGetVersion": [_INTS],
    "sparseAllreduce": _DENSE_VERB,
    "gtopkAllreduce": _DENSE_VERB,
    "sparseReduceScatter": [_P, _SPARSE, _SIZE, _SIZE, _INT, _INT, _SIZES, _P, _P, _P],
    "sparseAlltoall": [_SPARSE, _SPARSE, _SIZES, _SIZES, _P, _P],
    "sparsecollGroupStart": [_P],
    "sparsecollGroupEnd": [_P],
    "pushSumStep": [_P, _P, _SIZE, _INT, _P, _P, _P],
    "sparsecollPushSumCreate": [_HANDLES, _SIZE, _INT, ctypes.POINTER(t.PushSumConfigStruct), _P],
    "sparsecollPushSumDestroy": [_P],
    "sparsecollPushSumWeight": [_P, ctypes.POINTER(ctypes.c_double)],
    "sparsecollPushSumDrain": [_P, _P, _P, _P],
    "sparsecollPushSumSave": [_P, _PATH],
    "sparsecollPushSumLoad": [_P, _PATH],
    "sparsecollPushSumSaveTo": [_P, _P, _SIZES],
    "sparsecollPushSumLoadFrom": [_P, _P, _SIZE],
    "sparsecollPushSumMove": [_P, _P],
    "sparsecollResidualCreate": [_HANDLES, _SIZE, _INT, _P],
    "sparsecollResidualDestroy": [_P],
    "sparsecollResidualRead": [_P, _P],
    "sparsecollResidualWrite": [_P, _P],
    "sparsecollResidualScale": [_P, ctypes.c_double],
    "sparsecollResidualPointer": [_P, _HANDLES],
    "sparsecollResidualSave": [_P, _PATH],
    "sparsecollResidualLoad": [_P, _PATH],
    "sparsecollResidualSaveTo": [_P, _P, _SIZES],
    "sparsecollResidualLoadFrom": [_P, _P, _SIZE],
    "sparsecollResidualMove": [_P, _P],
    "sparsecollTopk": [_P, _SIZE, _SIZE, _INT, _P, _SPARSE, _P, _P],
    "sparseAllreducev": _SPARSE_VERB,
    "gtopkAllreducev": _SPARSE_VERB,
    "sparsecollScatter": [_SPARSE, _P, _P, _P],
    "sparsecollScatterAt": [_SPARSE, _P, _SIZE, _SIZE, _P, _P],
    "sparsecollFetch": [_SPARSE, _SIZES, _P, _P],
}
TEXTS: Dict[str, List[Any]] = {
    "sparsecollGetErrorString": [_INT],
    "sparsecollGetLastError": [_P],
}


def _candidates() -> List[str]:
    """Returns the files to try: the user's, the wheel's, the system's."""
    if "SPARSECOLL_LIBRARY" in os.environ:
        return [os.environ["SPARSECOLL_LIBRARY"]]
    beside = pathlib.Path(__file__).with_name("libsparsecoll.so")
    return ([str(beside)] if beside.exists() else []) + ["libsparsecoll.so.0", "libsparsecoll.so"]


def _open() -> ctypes.CDLL:
    failures = []
    for name in _candidates():
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            failures.append(str(error))
    raise ImportError("sparsecoll finds no libsparsecoll.so; SPARSECOLL_LIBRARY may name it: "
                      + "; ".join(failures))


library = _open()
# ctypes makes a function object for each name. Functions that this build lacks are left out.
functions: Dict[str, Any] = {}
for _name, _arguments in {**PROTOTYPES, **TEXTS}.items():
    if hasattr(library, _name):
        _function = getattr(library, _name)
        _function.argtypes = _arguments
        _function.restype = ctypes.c_char_p if _name in TEXTS else ctypes.c_int
        functions[_name] = _function


def has(name: str) -> bool:
    """Returns whether the loaded library has a function."""
    return name in functions


def last_error(comm: Optional[int]) -> str:
    """Returns the library's message of the last error on a communicator, or of the last init."""
    return functions["sparsecollGetLastError"](comm).decode(errors="replace")


def call(name: str, *arguments: Any, comm: Optional[int] = None, rank: Optional[int] = None) -> None:
    """Calls a function of the library. Raises an exception if it returns an error."""
    function = functions.get(name)
    if function is None:
        raise InvalidUsage(Result.INVALID_USAGE, f"{library._name} was built without {name}", rank)
    result = function(*arguments)
    if result != 0:
        message = last_error(comm) or functions["sparsecollGetErrorString"](result).decode()
        raise error_of(result, message, rank)


def version() -> int:
    """Returns the version of the library: major * 10000 + minor * 100 + patch."""
    number = ctypes.c_int()
    call("sparsecollGetVersion", ctypes.byref(number))
    return number.value
