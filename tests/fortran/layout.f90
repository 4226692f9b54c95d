! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Compares structures, their initial values and all constants with the C header.
program layout
  use, intrinsic :: iso_c_binding, only: c_int, c_null_char, c_size_t, c_sizeof
  use sparsecoll
  implicit none
  integer(c_int) :: i
  type(sparsecollSparse_t) :: sparse
  type(sparsecollConfig_t) :: config
  type(sparsecollStats_t) :: stats
  type(sparsecollTopology_t) :: topology
  type(sparsecollPushSumConfig_t) :: gossip
  interface
    function is_version(version) bind(C)
      import :: c_int
      integer(c_int), value :: version
      integer(c_int) :: is_version
    end function is_version

    function fresh_structures(sparse, config, stats, all) bind(C)
      import :: c_int, c_size_t, sparsecollSparse_t, sparsecollConfig_t, sparsecollStats_t
      type(sparsecollSparse_t), intent(in) :: sparse
      type(sparsecollConfig_t), intent(in) :: config
      type(sparsecollStats_t), intent(in) :: stats
      integer(c_size_t), value :: all
      integer(c_int) :: fresh_structures
    end function fresh_structures

    function fresh_gossip(gossip) bind(C)
      import :: c_int, sparsecollPushSumConfig_t
      type(sparsecollPushSumConfig_t), intent(in) :: gossip
      integer(c_int) :: fresh_gossip
    end function fresh_gossip

    subroutine fill_gossip(gossip) bind(C)
      import :: sparsecollPushSumConfig_t
      type(sparsecollPushSumConfig_t), intent(inout) :: gossip
    end subroutine fill_gossip

    function fresh_topology(topology) bind(C)
      import :: c_int, sparsecollTopology_t
      type(sparsecollTopology_t), intent(in) :: topology
      integer(c_int) :: fresh_topology
    end function fresh_topology

    subroutine fill_topology(topology) bind(C)
      import :: sparsecollTopology_t
      type(sparsecollTopology_t), intent(inout) :: topology
    end subroutine fill_topology

    subroutine fill_structures(sparse, config, stats) bind(C)
      import :: sparsecollSparse_t, sparsecollConfig_t, sparsecollStats_t
      type(sparsecollSparse_t), intent(inout) :: sparse
      type(sparsecollConfig_t), intent(inout) :: config
      type(sparsecollStats_t), intent(inout) :: stats
    end subroutine fill_structures
  end interface

  if (is_version(SPARSECOLL_VERSION) /= 1) error stop 'another version than in C'
  if (c_sizeof(sparse) /= sparse%size .or. c_sizeof(config) /= config%size .or. &
    c_sizeof(stats) /= stats%size .or. c_sizeof(gossip) /= gossip%size &
    .or. c_sizeof(topology) /= topology%size) error stop 'a wrong size'
  if (fresh_structures(sparse, config, stats, SPARSECOLL_ALL) /= 1) error stop 'initial values'
  if (fresh_gossip(gossip) /= 1) error stop 'initial values of push-sum'
  if (fresh_topology(topology) /= 1) error stop 'initial values of a topology'
  call fill_structures(sparse, config, stats)
  if (any([sparse%size, sparse%count, sparse%nnz, sparse%capacity, sparse%needed] /= &
    [(int(i, c_size_t), i=1, 5)])) error stop 'the lengths of a sparse vector'
  if (sparse%blockSize /= 8) error stop 'the blocks of a sparse vector'
  if (any([sparse%indexType, sparse%datatype] /= [6, 7])) error stop 'types of a sparse vector'
  if (any([config%magic, config%version, config%blocking, config%device, config%timeoutMs, &
    config%algorithm, config%selection, config%residualRule, config%wire, &
    config%repartitionInterval, config%thresholdInterval, config%allowReordered, &
    config%allowSharded, config%expectedRanks, int(config%denseBelow), &
    config%nonFinite] /= [(i, i=1, 16)])) &
    error stop 'the fields of a configuration'
  if (any([stats%magic, stats%version, stats%algorithm] /= [1, 2, 3])) error stop 'of statistics'
  if (any([stats%bytesSent, stats%bytesReceived, stats%messagesSent, stats%selected, &
    stats%result, stats%abandonedBytes, stats%skipped] /= [(int(i, c_size_t), i=4, 10)])) &
    error stop 'counters'
  if (any(nint([stats%selectSeconds, stats%packSeconds, stats%exchangeSeconds, &
    stats%reduceSeconds]) /= [1, 2, 3, 4])) error stop 'times'
  call fill_gossip(gossip)
  if (any([gossip%magic, gossip%version, gossip%graph, gossip%peers, gossip%maxDelay, &
    int(gossip%k), nint(gossip%mixing)] /= [(i, i=1, 7)])) error stop 'the fields of push-sum'
  call fill_topology(topology)
  if (any([topology%magic, topology%version, topology%levels, topology%numaNode, topology%cores, &
    topology%threads] /= [1, 2, 3, 8, 9, 10])) error stop 'the fields of a topology'
  if (any([topology%group, topology%groups, topology%ranks] /= &
    [(i, i=41, 48), (i, i=51, 58), (i, i=61, 68)])) error stop 'the levels of a topology'
  if (any(topology%source(:7) /= ['s', 'o', 'u', 'r', 'c', 'e', c_null_char])) &
    error stop 'the source of a topology'
end program layout
