# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse collectives for networks that are too slow for dense ones.

Communicator has the verbs, Residual and PushSum the state between calls, SparseVector holds
coordinate form. docs/python.md explains the module, docs/semantics.md what each verb computes.
`sparsecoll.torch` has hooks for PyTorch.
"""

from sparsecoll._communicator import Communicator
from sparsecoll._config import Config, PushSumConfig
from sparsecoll._errors import (CudaError, Error, InternalError, InvalidArgument, InvalidUsage,
                                RemoteError, SystemError, TimeoutError, Truncated)
from sparsecoll._group import Group
from sparsecoll._init import unique_id
from sparsecoll._library import version
from sparsecoll._sparse import SparseVector
from sparsecoll._state import PushSum, Residual
from sparsecoll._statistics import Stats, Topology
from sparsecoll._types import (ALL, DEVICE_HOST, SPLIT_NOCOLOR, Algo, DataType, GraphKind,
                               IndexType, NonFinite, RedOp, ResidualRule, Result, Select, Wire)

__version__ = "0.1.0"
__all__ = [
    "ALL", "Algo", "Communicator", "Config", "CudaError", "DEVICE_HOST", "DataType", "Error",
    "GraphKind", "Group", "IndexType", "InternalError", "InvalidArgument", "InvalidUsage",
    "NonFinite", "PushSum", "PushSumConfig", "RedOp", "RemoteError", "Residual", "ResidualRule",
    "Result", "SPLIT_NOCOLOR", "Select", "SparseVector", "Stats", "SystemError", "TimeoutError",
    "Topology", "Truncated", "Wire", "unique_id", "version",
]
