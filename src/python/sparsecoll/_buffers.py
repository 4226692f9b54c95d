# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the address, length and type of an array: numpy's, torch's, DLPack's, CUDA's."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Tuple

import numpy as np

from sparsecoll._types import DataType, IndexType

_DATATYPES = {
    "float32": DataType.FLOAT32,
    "float64": DataType.FLOAT64,
    "float16": DataType.FLOAT16,
    "bfloat16": DataType.BFLOAT16,
    "int32": DataType.INT32,
    "int64": DataType.INT64,
}
# Signed indices have the bits of unsigned ones, since none is negative.
_INDEX_TYPES = {
    "uint32": IndexType.INDEX32,
    "int32": IndexType.INDEX32,
    "uint64": IndexType.INDEX64,
    "int64": IndexType.INDEX64,
}
# Types of this machine's byte order.
_NUMPY_NAMES = {np.dtype(name): name for name in (
    "float32", "float64", "float16", "int32", "int64", "uint32", "uint64")}


class Buffer(NamedTuple):
    """The memory of an array. It is valid while `owner` lives."""

    pointer: int
    count: int
    dtype: str
    stream: Optional[int]  # the stream of device memory; None on the host
    owner: Any

    @property
    def datatype(self) -> DataType:
        try:
            return _DATATYPES[self.dtype]
        except KeyError:
            raise TypeError(f"values of type {self.dtype}: expected one of "
                            f"{', '.join(_DATATYPES)}") from None

    @property
    def index_type(self) -> IndexType:
        try:
            return _INDEX_TYPES[self.dtype]
        except KeyError:
            raise TypeError(f"indices of type {self.dtype}: expected one of "
                            f"{', '.join(_INDEX_TYPES)}") from None


def datatype_of(dtype: Any) -> DataType:
    """Returns the type of values from a DataType, a name, or a dtype of numpy or torch."""
    if isinstance(dtype, DataType):
        return dtype
    name = str(dtype).removeprefix("torch.")
    if name not in _DATATYPES:
        name = np.dtype(dtype).name
    return Buffer(0, 0, name, None, None).datatype


def accumulation_dtype(datatype: DataType) -> Any:
    """Returns numpy's type for sums, which is also that of residuals."""
    return np.float64 if datatype == DataType.FLOAT64 else np.float32


def buffer_of(array: Any, writable: bool = False) -> Buffer:
    """Returns the memory of an array, which must be contiguous. Nothing is copied."""
    if isinstance(array, np.ndarray) and array.dtype in _NUMPY_NAMES and array.flags.c_contiguous:
        pointer, read_only = array.__array_interface__["data"]
        if not (writable and read_only):
            return Buffer(pointer, array.size, _NUMPY_NAMES[array.dtype], None, array)
    if hasattr(array, "data_ptr"):
        return _of_torch(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array, array.__cuda_array_interface__, writable, True)
    if hasattr(array, "__array_interface__"):
        return _of_interface(array, array.__array_interface__, writable, False)
    if hasattr(array, "__dlpack__"):
        return _of_dlpack(array)
    try:
        view = np.asarray(memoryview(array))
    except TypeError:
        raise TypeError(f"{type(array).__name__} is no array: expected numpy's, or one with "
                        "__dlpack__ or __cuda_array_interface__") from None
    return _of_interface(view, view.__array_interface__, writable, False)


def _of_torch(tensor: Any) -> Buffer:
    if not tensor.is_contiguous():
        raise ValueError("the tensor is not contiguous")
    stream = current_stream(tensor) if tensor.is_cuda else None
    name = str(tensor.dtype)[6:]
    return Buffer(tensor.data_ptr(), tensor.numel(), name, stream, tensor)


def _is_contiguous(shape: Tuple[int, ...], strides: Optional[Tuple[int, ...]], item: int) -> bool:
    """Returns whether the array is contiguous in C order; an element takes `item` units of the
    strides."""
    if strides is None or 0 in shape:
        return True
    expected = item
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def _product(shape: Tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def _of_interface(array: Any, interface: Any, writable: bool, on_device: bool) -> Buffer:
    text = interface["typestr"]
    if text[0] == ">":
        raise TypeError("the values are big-endian")
    if text[1] == "V":
        name = getattr(array.dtype, "name", text)  # ml_dtypes' bfloat16
    else:
        kinds = {"f": "float", "i": "int", "u": "uint"}
        name = f"{kinds.get(text[1], text[1])}{8 * int(text[2:])}"
    shape, (pointer, read_only) = interface["shape"], interface["data"]
    if not _is_contiguous(shape, interface.get("strides"), int(text[2:])):
        raise ValueError("the array is not contiguous in C order")
    if writable and read_only:
        raise ValueError("the array is read-only")
    stream = (interface.get("stream") or 0) if on_device else None
    return Buffer(pointer, _product(shape), name, stream, array)


class _DLTensor(ctypes.Structure):
    """DLTensor of dlpack.h, which begins a DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DL_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_DL_HOST = {1, 3, 11}  # CPU, memory that CUDA or ROCm has pinned
_DL_CUDA = {2, 13}  # CUDA, managed memory
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _of_dlpack(array: Any) -> Buffer:
    """Reads a DLPack capsule without consuming it, so that its destructor frees it when the buffer
    is dropped."""
    device = array.__dlpack_device__()[0] if hasattr(array, "__dlpack_device__") else 1
    if device not in _DL_HOST | _DL_CUDA:
        raise TypeError(f"memory of DLPack's device type {int(device)}: expected host or CUDA")
    legacy_stream = 1
    capsule = array.__dlpack__(stream=legacy_stream) if device in _DL_CUDA else array.__dlpack__()
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    if tensor.lanes != 1 or not _is_contiguous(shape, strides, 1):
        raise ValueError("the array is not contiguous in C order")
    name = f"{_DL_KINDS.get(tensor.code, 'unknown')}{tensor.bits}"
    pointer = (tensor.data or 0) + tensor.byte_offset
    return Buffer(pointer, _product(shape), name, 0 if device in _DL_CUDA else None, (array, capsule))


def current_stream(tensor: Any) -> int:
    """Returns torch's current stream on the device of a tensor."""
    import torch  # pylint: disable=import-outside-toplevel
    return torch.cuda.current_stream(tensor.device).cuda_stream


def device_tensor(array: Any) -> Any:
    """Returns the array if it is a tensor of torch on a GPU, otherwise None."""
    return array if getattr(array, "is_cuda", False) and hasattr(array, "new_empty") else None


def record_use(buffer: Buffer, stream: Optional[int]) -> None:
    """Tells torch that another stream than the current one uses a tensor. When the tensor is
    dropped, torch then gives its memory to nobody before that stream is done."""
    if stream is None or stream == buffer.stream or device_tensor(buffer.owner) is None:
        return
    import torch  # pylint: disable=import-outside-toplevel
    device = buffer.owner.device
    other = torch.cuda.ExternalStream(stream, device=device) if stream else \
        torch.cuda.default_stream(device)
    buffer.owner.record_stream(other)


def empty_like(array: Any, count: Optional[int] = None) -> Any:
    """Returns a new array of the same kind and type as another one, on the same device."""
    shape = array.shape if count is None else (count,)
    if hasattr(array, "new_empty"):
        return array.new_empty(shape)
    if hasattr(array, "__array_interface__"):
        return np.empty(shape, dtype=array.dtype)
    raise TypeError(f"pass an output: sparsecoll cannot make a {type(array).__name__}")
