! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Makes sparse vectors from Fortran arrays.
module sparsecoll_sparse_vectors
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_int32_t, c_int64_t, c_loc, &
    c_size_t
  use sparsecoll_types
  implicit none
  private
  public :: sparsecollSparse_t

  !> sparsecollSparse_t(indices, values, count[, nnz][, blockSize]): a sparse vector of dense length
  !> `count` whose first `nnz` entries are in use (all of them, if it is absent) and whose capacity
  !> is that of the shorter array. An entry has `blockSize` values (1, if it is absent). It refers to
  !> the arrays: they are targets or pointers, contiguous, and live as long as the vector is used.
  !> Indices count from 0.
  interface sparsecollSparse_t
    procedure index32_float32, index32_float64, index32_int32, index32_int64
    procedure index64_float32, index64_float64, index64_int32, index64_int64
  end interface sparsecollSparse_t

contains

  function index32_float32(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int32_t), pointer, contiguous, intent(in) :: indices(:)
    real(c_float), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex32
    sparse%datatype = sparsecollFloat32
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index32_float32

  function index32_float64(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int32_t), pointer, contiguous, intent(in) :: indices(:)
    real(c_double), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex32
    sparse%datatype = sparsecollFloat64
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index32_float64

  function index32_int32(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int32_t), pointer, contiguous, intent(in) :: indices(:)
    integer(c_int32_t), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex32
    sparse%datatype = sparsecollInt32
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index32_int32

  function index32_int64(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int32_t), pointer, contiguous, intent(in) :: indices(:)
    integer(c_int64_t), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex32
    sparse%datatype = sparsecollInt64
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index32_int64

  function index64_float32(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int64_t), pointer, contiguous, intent(in) :: indices(:)
    real(c_float), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex64
    sparse%datatype = sparsecollFloat32
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index64_float32

  function index64_float64(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int64_t), pointer, contiguous, intent(in) :: indices(:)
    real(c_double), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex64
    sparse%datatype = sparsecollFloat64
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index64_float64

  function index64_int32(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int64_t), pointer, contiguous, intent(in) :: indices(:)
    integer(c_int32_t), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex64
    sparse%datatype = sparsecollInt32
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index64_int32

  function index64_int64(indices, values, count, nnz, blockSize) result(sparse)
    integer(c_int64_t), pointer, contiguous, intent(in) :: indices(:)
    integer(c_int64_t), pointer, contiguous, intent(in) :: values(:)
    integer(c_size_t), intent(in) :: count
    integer(c_size_t), intent(in), optional :: nnz, blockSize
    type(sparsecollSparse_t) :: sparse

    sparse%indices = c_loc(indices)
    sparse%values = c_loc(values)
    sparse%indexType = sparsecollIndex64
    sparse%datatype = sparsecollInt64
    call set_lengths(sparse, size(indices, kind=c_size_t), size(values, kind=c_size_t), count, nnz, &
      blockSize)
  end function index64_int64

  subroutine set_lengths(sparse, indices, values, count, nnz, blockSize)
    type(sparsecollSparse_t), intent(inout) :: sparse
    integer(c_size_t), intent(in) :: indices, values, count
    integer(c_size_t), intent(in), optional :: nnz, blockSize

    sparse%count = count
    if (present(blockSize)) sparse%blockSize = blockSize
    sparse%capacity = min(indices, values / max(sparse%blockSize, 1_c_size_t))
    sparse%nnz = sparse%capacity
    if (present(nnz)) sparse%nnz = nnz
  end subroutine set_lengths
end module sparsecoll_sparse_vectors
