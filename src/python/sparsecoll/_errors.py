# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions for the results of the C API."""

from __future__ import annotations

from typing import Dict, Optional, Type

from sparsecoll._types import Result


class Error(RuntimeError):
    """A function of the library failed. docs/errors.md says what is valid afterwards.

    Attributes:
        code: the Result.
        rank: the rank in the communicator, or None where there is none.
        message: the library's text: rank, operation, sequence, expected and actual value.
    """

    def __init__(self, code: Result, message: str, rank: Optional[int] = None):
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.rank = rank

    @property
    def fatal(self) -> bool:
        """Whether the error poisons the communicator: every later call returns it again."""
        return self.code in _FATAL


class InvalidArgument(Error, ValueError):
    """Nothing was done; the communicator stays usable."""


class InvalidUsage(Error):
    """Ranks disagree, or the state does not allow the call."""


class RemoteError(Error):
    """A peer failed or sent a damaged message."""


class TimeoutError(Error, TimeoutError):  # pylint: disable=redefined-builtin
    """A deadline passed; the message names the missing ranks."""


class SystemError(Error):  # pylint: disable=redefined-builtin
    """Memory, a file or the layer below (MPI, UCX) failed."""


class CudaError(Error):
    """A call of CUDA failed."""


class InternalError(Error):
    """A bug in the library."""


class Truncated(Error):
    """An output was too small. Communicator.fetch() gets the data.

    Attributes:
        needed: the capacity that the output must have, or None if it is not known.
    """

    needed: Optional[int] = None


_FATAL = {Result.UNHANDLED_CUDA_ERROR, Result.SYSTEM_ERROR, Result.INTERNAL_ERROR,
          Result.REMOTE_ERROR, Result.TIMEOUT}

_CLASSES: Dict[Result, Type[Error]] = {
    Result.UNHANDLED_CUDA_ERROR: CudaError,
    Result.SYSTEM_ERROR: SystemError,
    Result.INTERNAL_ERROR: InternalError,
    Result.INVALID_ARGUMENT: InvalidArgument,
    Result.INVALID_USAGE: InvalidUsage,
    Result.REMOTE_ERROR: RemoteError,
    Result.TIMEOUT: TimeoutError,
    Result.TRUNCATED: Truncated,
}


def error_of(code: int, message: str, rank: Optional[int] = None) -> Error:
    """Returns the exception of a result."""
    result = Result(code)
    return _CLASSES.get(result, Error)(result, message, rank)
