! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Without ierr, an error stops the program with the library's message.
program stops
  use, intrinsic :: iso_c_binding, only: c_float, c_int, c_size_t
  use sparsecoll
  implicit none
  type(sparsecollComm_t) :: comms(1)
  real(c_float) :: buffer(4)

  call sparsecollCommInitAll(comms, 1)
  buffer = 1
  call sparseAllreduce(buffer, 2_c_size_t, 3_c_int, sparsecollNoResidual, comms(1))
  print '(a)', 'went on'
end program stops
