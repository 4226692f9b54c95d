! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Two ranks in one thread, which queues their calls and then waits for them.
program threads
  use, intrinsic :: iso_c_binding, only: c_float, c_size_t
  use sparsecoll
  implicit none
  type(sparsecollComm_t) :: comms(2)
  type(sparsecollConfig_t) :: config
  real(c_float), asynchronous :: mine(4, 2), total(4, 2)
  integer :: r

  config%blocking = 0
  call sparsecollCommInitAll(comms, 2, config=config)
  mine = reshape([1., 5., 0., -2., 1., 0., 6., -2.], shape(mine))
  do r = 1, 2
    call sparseAllreduce(mine(:, r), total(:, r), 2_c_size_t, sparsecollSum, sparsecollNoResidual, &
      comms(r))
  end do
  do r = 1, 2
    call sparsecollCommSynchronize(comms(r))
    if (any(nint(total(:, r)) /= [0, 5, 6, 0])) error stop 'threads: another sum was expected'
  end do
  do r = 1, 2
    call sparsecollCommDestroy(comms(r))
  end do
end program threads
