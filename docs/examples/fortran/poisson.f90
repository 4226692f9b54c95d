! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Solves Poisson's equation on an unstructured mesh by conjugate gradients: mpirun -n 4 ./poisson
!>
!> The equation is -div grad u = 1 in the unit square, u = 0 on its border, discretized by linear
!> finite elements. Recursive bisection assigns the vertices to the ranks. The ranks exchange the
!> values of neighbouring vertices by sparseAlltoall. For comparison each rank also solves the whole
!> system itself.
program poisson
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_size_t
  use, intrinsic :: iso_fortran_env, only: real64
  use ghost_values
  use mesh
  use mpi_f08
  use partition
  use sparsecoll
  implicit none
  integer, parameter :: squares = 40
  real(real64), parameter :: tolerance = 1e-10_real64
  type(sparsecollComm_t) :: comm
  type(mesh_t) :: grid
  type(matrix_t) :: matrix, mine
  type(ghosts_t) :: ghosts
  integer, allocatable :: owner(:), new_number(:)
  integer(c_int64_t), allocatable :: needed(:)
  integer(c_size_t), allocatable :: rows(:)
  real(real64), allocatable :: u(:), serial(:), right(:)
  real(real64) :: difference, residual
  integer :: rank, P, n, iterations, serial_iterations, i, r, first, most, slots

  call MPI_Init()
  call sparsecollCommInitMpi(comm, MPI_COMM_WORLD)
  call sparsecollCommRank(comm, rank)
  call sparsecollCommCount(comm, P)
  grid = unstructured_mesh(squares)
  matrix = stiffness(grid)
  n = size(grid%on_border)
  owner = owners_of(grid%at, P)

  ! Number the vertices anew, so that those of each rank are contiguous.
  rows = [0_c_size_t, (count(owner < r, kind=c_size_t), r=1, P)]
  allocate (new_number(n))
  do r = 0, P - 1
    new_number(pack([(i, i=1, n)], owner == r)) = [(i, i=int(rows(r + 1)) + 1, int(rows(r + 2)))]
  end do
  call take_rows()
  ghosts = connect(needed, rows, comm)

  allocate (right(n), source=1.0_real64 / squares**2)
  where (grid%on_border) right = 0
  call solve(matrix, right, serial, serial_iterations, .false.)
  call solve(mine, pack(right, owner == rank), u, iterations, .true.)

  difference = maxval(abs(u - pack(serial, owner == rank)))
  call MPI_Allreduce(MPI_IN_PLACE, difference, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  slots = int(ghosts%slot_bounds(P + 1))
  if (rank == 0) then
    print '(3(i0,a))', n, ' vertices on ', P, ' ranks, ', slots, ' ghost slots'
    print '(2(i0,a),es8.1)', iterations, ' iterations (one rank: ', serial_iterations, &
      '), residual ', residual
    print '(2(a,es8.1))', 'largest u ', maxval(serial), ', difference to one rank ', difference
  end if
  call sparsecollCommDestroy(comm)
  call MPI_Finalize()
  if (abs(maxval(serial) - 0.0737_real64) > 0.005_real64) error stop 'this is not the solution'
  if (difference > 1e-9_real64) error stop 'ranks together found another solution than one alone'

contains

  !> Extracts this rank's rows of the matrix. Columns become positions in its vector, in which the
  !> ghosts follow its own vertices.
  subroutine take_rows()
    integer, allocatable :: own(:)
    logical :: is_needed(n)
    integer :: position(n), row, e

    own = pack([(i, i=1, n)], owner == rank)
    first = int(rows(rank + 1))
    most = size(own)
    mine = matrix_t(matrix%number(own), matrix%column(:, own), matrix%value(:, own))
    is_needed = .false.
    do row = 1, most
      do e = 1, mine%number(row)
        if (owner(mine%column(e, row)) /= rank) is_needed(new_number(mine%column(e, row))) = .true.
      end do
    end do
    needed = pack([(int(i - 1, c_int64_t), i=1, n)], is_needed)
    position(first + 1:first + most) = [(i, i=1, most)]
    position(needed + 1) = [(most + i, i=1, size(needed))]
    do row = 1, most
      do e = 1, mine%number(row)
        mine%column(e, row) = position(new_number(mine%column(e, row)))
      end do
    end do
  end subroutine take_rows

  !> Solves by conjugate gradients: all ranks together, or each rank by itself.
  subroutine solve(rows_of, b, x, steps, together)
    type(matrix_t), intent(in) :: rows_of
    real(real64), intent(in) :: b(:)
    real(real64), allocatable, intent(out) :: x(:)
    integer, intent(out) :: steps
    logical, intent(in) :: together
    real(real64) :: rest(size(b)), image(size(b)), rho, before, start
    real(real64), allocatable :: direction(:)

    allocate (x(size(b)), source=0.0_real64)
    allocate (direction(size(b) + merge(size(needed), 0, together)), source=0.0_real64)
    rest = b
    direction(:size(b)) = rest
    rho = total(sum(rest * rest), together)
    start = rho
    steps = 0
    do while (sqrt(rho / start) > tolerance .and. steps < n)
      if (together) call update(ghosts, size(b), direction)
      image = product_of(rows_of, direction)
      associate (alpha => rho / total(sum(direction(:size(b)) * image), together))
        x = x + alpha * direction(:size(b))
        rest = rest - alpha * image
      end associate
      before = rho
      rho = total(sum(rest * rest), together)
      direction(:size(b)) = rest + rho / before * direction(:size(b))
      steps = steps + 1
    end do
    residual = sqrt(rho / start)
  end subroutine solve

  function product_of(rows_of, x) result(y)
    type(matrix_t), intent(in) :: rows_of
    real(real64), intent(in) :: x(:)
    real(real64) :: y(size(rows_of%number))
    integer :: row

    do row = 1, size(y)
      associate (m => rows_of%number(row))
        y(row) = sum(rows_of%value(:m, row) * x(rows_of%column(:m, row)))
      end associate
    end do
  end function product_of

  function total(part, together)
    real(real64), intent(in) :: part
    logical, intent(in) :: together
    real(real64) :: total

    total = part
    if (together) call MPI_Allreduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function total
end program poisson
