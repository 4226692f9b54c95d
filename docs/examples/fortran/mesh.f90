! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> An unstructured mesh of triangles with vertices in random order, and Laplace's operator on it,
!> discretized by linear finite elements.
module mesh
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: mesh_t, matrix_t, unstructured_mesh, stiffness

  integer, parameter :: most_neighbours = 16

  type :: mesh_t
    real(real64), allocatable :: at(:, :)        !< coordinates (2, vertices)
    integer, allocatable :: triangles(:, :)      !< vertices (3, triangles)
    logical, allocatable :: on_border(:)
  end type mesh_t

  !> A sparse matrix. Row i has number(i) entries: value(:, i) in the columns column(:, i).
  type :: matrix_t
    integer, allocatable :: number(:), column(:, :)
    real(real64), allocatable :: value(:, :)
  end type matrix_t

contains

  !> Makes a mesh of the unit square with (m + 1)^2 vertices. It starts from a grid of m x m
  !> squares, moves the inner vertices at random, cuts every square along a random diagonal, and
  !> shuffles the numbers of the vertices.
  function unstructured_mesh(m) result(grid)
    integer, intent(in) :: m
    type(mesh_t) :: grid
    integer, allocatable :: number(:)
    integer(int64) :: seed
    integer :: i, j, other, swap, vertex, corners(4)

    allocate (grid%at(2, (m + 1)**2), grid%triangles(3, 2 * m * m), grid%on_border((m + 1)**2))
    seed = 12345
    number = [(i, i=1, (m + 1)**2)]
    do i = size(number), 2, -1
      other = 1 + int(i * chance(seed))
      swap = number(i)
      number(i) = number(other)
      number(other) = swap
    end do
    do j = 0, m
      do i = 0, m
        vertex = number(1 + i + (m + 1) * j)
        grid%on_border(vertex) = i == 0 .or. i == m .or. j == 0 .or. j == m
        grid%at(:, vertex) = real([i, j], real64) / m
        if (grid%on_border(vertex)) cycle
        grid%at(1, vertex) = grid%at(1, vertex) + 0.5_real64 * (chance(seed) - 0.5_real64) / m
        grid%at(2, vertex) = grid%at(2, vertex) + 0.5_real64 * (chance(seed) - 0.5_real64) / m
      end do
    end do
    do j = 0, m - 1
      do i = 0, m - 1
        corners = number(1 + [i, i + 1, i + 1, i] + (m + 1) * [j, j, j + 1, j + 1])
        if (chance(seed) < 0.5_real64) corners = cshift(corners, 1)
        grid%triangles(:, 1 + 2 * (i + m * j)) = corners([1, 2, 3])
        grid%triangles(:, 2 + 2 * (i + m * j)) = corners([1, 3, 4])
      end do
    end do
  end function unstructured_mesh

  !> Returns the stiffness matrix. The rows of vertices on the border are those of the identity
  !> matrix, because the values there are given.
  function stiffness(of) result(matrix)
    type(mesh_t), intent(in) :: of
    type(matrix_t) :: matrix
    real(real64) :: edges(2, 3), area
    integer :: t, a, b, n, corners(3)

    n = size(of%on_border)
    allocate (matrix%number(n), source=0)
    allocate (matrix%column(most_neighbours, n), source=0)
    allocate (matrix%value(most_neighbours, n), source=0.0_real64)
    do t = 1, size(of%triangles, 2)
      corners = of%triangles(:, t)
      edges = of%at(:, cshift(corners, 2)) - of%at(:, cshift(corners, 1))
      area = abs(edges(1, 1) * edges(2, 2) - edges(2, 1) * edges(1, 2)) / 2
      do a = 1, 3
        if (of%on_border(corners(a))) cycle
        do b = 1, 3
          if (of%on_border(corners(b))) cycle
          call add(matrix, corners([a, b]), dot_product(edges(:, a), edges(:, b)) / (4 * area))
        end do
      end do
    end do
    do a = 1, n
      if (of%on_border(a)) call add(matrix, [a, a], 1.0_real64)
    end do
  end function stiffness

  subroutine add(matrix, position, value)
    type(matrix_t), intent(inout) :: matrix
    integer, intent(in) :: position(2)
    real(real64), intent(in) :: value
    integer :: at

    associate (number => matrix%number(position(1)), row => position(1))
      do at = 1, number
        if (matrix%column(at, row) == position(2)) exit
      end do
      if (at > most_neighbours) error stop 'a vertex has too many neighbours'
      number = max(number, at)
      matrix%column(at, row) = position(2)
      matrix%value(at, row) = matrix%value(at, row) + value
    end associate
  end subroutine add

  !> Returns a pseudo-random number in [0, 1), the same with every compiler.
  function chance(seed)
    integer(int64), intent(inout) :: seed
    real(real64) :: chance

    seed = modulo(seed * 1103515245_int64 + 12345_int64, 2147483648_int64)
    chance = real(seed, real64) / 2147483648.0_real64
  end function chance
end module mesh
