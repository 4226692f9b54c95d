# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics and topology, as plain values."""

from __future__ import annotations

import dataclasses
from typing import Any, Tuple

from sparsecoll._types import Algo


@dataclasses.dataclass(frozen=True)
class Stats:
    """Statistics of one rank's verbs; sparsecoll.h says what each field counts."""

    algorithm: Algo
    bytes_sent: int
    bytes_received: int
    messages_sent: int
    selected: int
    result: int
    select_seconds: float
    pack_seconds: float
    exchange_seconds: float
    reduce_seconds: float
    abandoned_bytes: int
    skipped: int

    @classmethod
    def of(cls, struct: Any) -> "Stats":
        """Returns the values of a sparsecollStats_t."""
        values = {field.name: getattr(struct, field.name) for field in dataclasses.fields(cls)}
        values["algorithm"] = Algo(values["algorithm"])
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Topology:
    """The node and the groups of a rank. The tuples have an element for each level, the node first."""

    group: Tuple[int, ...]
    groups: Tuple[int, ...]
    ranks: Tuple[int, ...]
    source: str
    numa_node: int
    cores: int
    threads: int

    @classmethod
    def of(cls, struct: Any) -> "Topology":
        """Returns the values of a sparsecollTopology_t."""
        levels = slice(0, struct.levels)
        return cls(tuple(struct.group[levels]), tuple(struct.groups[levels]),
                   tuple(struct.ranks[levels]), struct.source.decode(), struct.numa_node,
                   struct.cores, struct.threads)
