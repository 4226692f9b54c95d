# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Groups: verbs that share messages."""

from __future__ import annotations

from types import TracebackType
from typing import Any, List, Optional, Type

from sparsecoll._errors import Error, InvalidUsage
from sparsecoll._library import call, functions
from sparsecoll._types import Result
from sparsecoll._verbs import Call, Verbs


class Group(Verbs):
    """Verbs that share messages, so that all of them together pay for the latency once.

    Use it in a `with` statement: the verbs only record calls, and the end of the block makes all of
    them, as one collective call. Until then buffers and residuals must not change. All ranks make
    the same calls in the same order. If an exception leaves the block, the group is void: on this
    rank no output and no residual is changed, and all other ranks get InvalidUsage for theirs.
    """

    def __init__(self, comm: Any):
        self._comm = comm
        self._calls: List[Call] = []
        self._open = True

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._comm.size

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if not self._open:
            return
        if kind is None:
            self.end()
        else:
            self._open = False
            self._make_void()

    def end(self) -> None:
        """Makes the recorded calls. An error voids all of them. Outputs grow as needed."""
        if not self._open:
            raise InvalidUsage(Result.INVALID_USAGE, "the group has ended", self._comm.rank)
        self._open = False
        comm = self._comm
        comm._drop_if_idle()
        comm._call("sparsecollGroupStart", comm.handle)
        failure: Optional[Error] = None
        for each in self._calls:
            try:
                comm._call(each.name, *each.arguments, comm.handle, each.stream)
            except Error as error:
                # The refused call makes the group differ from the other ranks', which voids it.
                failure = error
                break
        try:
            comm._call("sparsecollGroupEnd", comm.handle)
        except Error as error:
            if failure is None and error.code == Result.TRUNCATED:
                for each in self._calls:
                    if each.recv is not None and each.recv.needed > each.recv.capacity:
                        comm._grow(each, error)
            else:
                failure = failure or error
        if failure is not None:
            raise failure
        for each in self._calls:
            comm._keep(each.keep, each.stream)

    def _submit(self, each: Call) -> None:
        if not self._open:
            raise InvalidUsage(Result.INVALID_USAGE, "the group has ended", self._comm.rank)
        self._calls.append(each)

    def _make_void(self) -> None:
        """Makes a group with one invalid call, which no rank accepts."""
        handle = self._comm.handle
        try:
            call("sparsecollGroupStart", handle)
        except Error:
            return
        functions["sparseAllreduce"](None, None, 1, 1, 7, 0, None, handle, None)
        functions["sparsecollGroupEnd"](handle)
