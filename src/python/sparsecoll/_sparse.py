# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse vectors in coordinate form."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from sparsecoll import _types as t
from sparsecoll._buffers import buffer_of, current_stream, datatype_of, device_tensor
from sparsecoll._types import DataType

_NUMPY = {DataType.FLOAT32: np.float32, DataType.FLOAT64: np.float64, DataType.FLOAT16: np.float16,
          DataType.INT32: np.int32, DataType.INT64: np.int64, DataType.BFLOAT16: np.uint16}


class SparseVector:
    """A sparse vector of `count` values: strictly increasing indices, and a value for each.

    With `block_size` = b above 1 each index has a block of b values, and `count` is the number of
    blocks. `values` is then an array of shape (entries, b).

    With `indices` and `values` it uses these arrays, without a copy; they are all its entries.
    Without them it makes arrays with room for `capacity` entries, and larger ones if it is an
    output that needs them. They are arrays of numpy, or with `like` tensors on the device of a tensor. numpy has no
    bfloat16: such values are then uint16 with the same bits.

    Args:
        count: the dense length; indices are below it.
        indices: integers of 32 or 64 bits.
        values: as many values.
        capacity: room for this many entries; in outputs of given arrays their length.
        dtype: the type of the values.
        index_dtype: numpy.uint32 or numpy.uint64; by default the smallest that holds count. torch
            has signed integers of the same width instead.
        block_size: the number of values of an entry.
        like: a tensor of torch of the values' type; None: numpy.
    """

    def __init__(self, count: int, indices: Any = None, values: Any = None, *, capacity: int = 0,
                 dtype: Any = np.float32, index_dtype: Any = None, block_size: int = 1,
                 like: Any = None):
        if block_size < 1:
            raise ValueError(f"block_size = {block_size}: expected at least 1")
        if (indices is None) != (values is None):
            raise ValueError("pass both indices and values, or neither")
        self._struct = t.SparseStruct(ctypes.sizeof(t.SparseStruct), count, block_size=block_size)
        self._grows = indices is None
        if self._grows:
            self._template = like
            self._datatype = datatype_of(dtype if like is None else like.dtype)
            if index_dtype is None:
                index_dtype = np.uint32 if count <= 2**32 else np.uint64
            self._index_dtype = np.dtype(index_dtype)
            self._allocate(capacity)
        else:
            self._set_arrays(indices, values)
            self._struct.nnz = self._struct.capacity

    @property
    def count(self) -> int:
        """The dense length."""
        return self._struct.count

    @property
    def nnz(self) -> int:
        """The number of entries in use."""
        return self._struct.nnz

    @nnz.setter
    def nnz(self, number: int) -> None:
        if not 0 <= number <= self.capacity:
            raise ValueError(f"nnz = {number}: expected 0 to {self.capacity}, the capacity")
        self._struct.nnz = number

    @property
    def capacity(self) -> int:
        """The number of entries that the arrays can hold."""
        return self._struct.capacity

    @property
    def block_size(self) -> int:
        """The number of values of an entry."""
        return self._struct.block_size

    @property
    def needed(self) -> int:
        """After Truncated: the capacity that the vector must have."""
        return self._struct.needed

    @property
    def datatype(self) -> DataType:
        """The type of the values."""
        return DataType(self._struct.datatype)

    @property
    def indices(self) -> Any:
        """The indices of the entries, a view."""
        return self._indices[: self.nnz]

    @property
    def values(self) -> Any:
        """The values of the entries, a view: one for each, or with blocks a row for each."""
        return self._values[: self.nnz]

    def to_dense(self) -> Any:
        """Returns the dense vector, an array of numpy, with blocks as rows. Host memory only."""
        dense = np.zeros(self._shape(self.count), dtype=_NUMPY[self.datatype])
        dense[np.asarray(self.indices)] = np.asarray(self.values)
        return dense

    def __repr__(self) -> str:
        return f"SparseVector(count={self.count}, nnz={self.nnz}, {self.datatype.name.lower()})"

    def _blocks_in(self, values: int) -> int:
        """Returns how many blocks a dense array has."""
        blocks, rest = divmod(values, self.block_size)
        if rest:
            raise ValueError(f"an array of {values} values: expected whole blocks of "
                             f"{self.block_size}")
        return blocks

    def _shape(self, entries: int) -> Any:
        return entries if self.block_size == 1 else (entries, self.block_size)

    def _allocate(self, capacity: int) -> None:
        indices: Any
        values: Any
        if self._template is None:
            indices = np.empty(capacity, dtype=self._index_dtype)
            values = np.empty(self._shape(capacity), dtype=_NUMPY[self._datatype])
        else:
            import torch  # pylint: disable=import-outside-toplevel
            wide = self._index_dtype.itemsize == 8
            indices = self._template.new_empty(capacity, dtype=torch.int64 if wide else torch.int32)
            values = self._template.new_empty(self._shape(capacity))
        self._set_arrays(indices, values, self._datatype)

    def _set_arrays(self, indices: Any, values: Any, datatype: Optional[DataType] = None) -> None:
        where, what = buffer_of(indices), buffer_of(values)
        if where.count * self.block_size != what.count:
            raise ValueError(f"{where.count} indices and {what.count} values"
                             + (f" in blocks of {self.block_size}" if self.block_size > 1 else ""))
        if self.block_size > 1 and tuple(values.shape) != self._shape(where.count):
            raise ValueError(f"values of shape {tuple(values.shape)}: expected "
                             f"{self._shape(where.count)}, a row for each index")
        self._indices, self._values = indices, values
        self._buffers = (where, what)
        struct = self._struct
        struct.capacity = where.count
        struct.indices, struct.values = where.pointer, what.pointer
        struct.index_type = where.index_type
        struct.datatype = what.datatype if datatype is None else datatype

    @property
    def _stream(self) -> Optional[int]:
        tensor = device_tensor(self._values)
        return self._buffers[1].stream if tensor is None else current_stream(tensor)

    def _like(self, capacity: int) -> "SparseVector":
        """Returns an empty vector of the same types, on the same device."""
        index_dtype = np.uint64 if self._struct.index_type == t.IndexType.INDEX64 else np.uint32
        return SparseVector(self.count, capacity=capacity, dtype=self.datatype,
                            index_dtype=index_dtype, block_size=self.block_size,
                            like=device_tensor(self._values))
