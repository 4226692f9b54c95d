# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Configurations: the structs of the C API with defaults and keywords."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Iterable, Optional, Tuple, Union

from sparsecoll import _types as t
from sparsecoll._types import enum_of

OutNeighbours = Callable[[int, int, int], Iterable[Tuple[int, float]]]

_ENUMS = {"algorithm": t.Algo, "selection": t.Select, "residual_rule": t.ResidualRule,
          "wire": t.Wire, "non_finite": t.NonFinite}


class Config(t.ConfigStruct):
    """The configuration of a communicator. All ranks must agree on every field except `device`.

    Every keyword is a field of sparsecollConfig_t: blocking, device, timeout_ms, algorithm,
    selection, residual_rule, wire, repartition_interval, threshold_interval, allow_reordered,
    allow_sharded, expected_ranks, dense_below, non_finite. Enumerations may be given by name:
    Config(algorithm="oktopk", wire="bf16"). Environment variables override fields.
    """

    def __init__(self, **fields: Any):
        super().__init__(ctypes.sizeof(t.ConfigStruct), 0x53504346, t.VERSION, 1, t.CURRENT_DEVICE,
                         600000)
        self.repartition_interval = 64
        self.threshold_interval = 32
        for name, value in fields.items():
            if name not in _FIELDS:
                raise TypeError(f"Config has no field {name!r}: expected {', '.join(_FIELDS)}")
            kind = _ENUMS.get(name)
            setattr(self, name, int(value) if kind is None else enum_of(kind, value))

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={getattr(self, name)}' for name in _FIELDS)})"


_FIELDS = [name for name, _ in t.ConfigStruct._fields_ if name not in ("size", "magic", "version")]


class PushSumConfig(t.PushSumConfigStruct):
    """The configuration of push-sum.

    Args:
        graph: a GraphKind or its name.
        peers: p of the graph "npeer_exponential".
        max_delay: a step waits only for messages that are this many steps old or older; 0: for all
            messages; -1: for none.
        k: 0: messages hold all values; above 0: compressed gossip with k entries in each.
        mixing: gamma of compressed gossip.
        out_neighbours: the graph "custom": a function of (rank, nranks, step) that returns pairs
            (neighbour, weight). It must give the same answer on all ranks.
    """

    def __init__(self, graph: Union[t.GraphKind, str] = "exponential", *, peers: int = 1,
                 max_delay: int = 0, k: int = 0, mixing: float = 1.0,
                 out_neighbours: Optional[OutNeighbours] = None):
        if out_neighbours is not None:
            graph = t.GraphKind.CUSTOM
        callback = t.OUT_NEIGHBOURS() if out_neighbours is None else _callback(out_neighbours)
        super().__init__(ctypes.sizeof(t.PushSumConfigStruct), 0x53505053, t.VERSION,
                         enum_of(t.GraphKind, graph), peers, max_delay, k, mixing, callback, None)
        self.callback = callback  # keeps the function alive: the state keeps the configuration


def _callback(out_neighbours: OutNeighbours) -> Any:
    """Returns a C function that calls a Python function. An exception makes it return a wrong
    answer."""

    def call(_user: Any, rank: int, nranks: int, step: int, neighbours: Any, weights: Any,
             capacity: int) -> int:
        try:
            edges = list(out_neighbours(rank, nranks, step))
            if len(edges) > capacity:
                return -1
            for i, (neighbour, weight) in enumerate(edges):
                neighbours[i] = neighbour
                weights[i] = weight
            return len(edges)
        except Exception:  # pylint: disable=broad-except
            return -1

    return t.OUT_NEIGHBOURS(call)
