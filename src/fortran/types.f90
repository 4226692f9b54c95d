! SPDX-FileCopyrightText: 2026 The sparsecoll authors
! SPDX-License-Identifier: Apache-2.0

!> Numbers, handles and structures of sparsecoll.h under their C names. Every structure starts with
!> the values that its initializer has in C.
module sparsecoll_types
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_funptr, c_int, c_null_char, &
    c_null_funptr, c_null_ptr, c_ptr, c_size_t
  implicit none
  private

  integer(c_int), parameter, public :: SPARSECOLL_VERSION = 100

  ! Results, which every procedure returns in ierr.
  integer(c_int), parameter, public :: sparsecollSuccess = 0
  integer(c_int), parameter, public :: sparsecollUnhandledCudaError = 1
  integer(c_int), parameter, public :: sparsecollSystemError = 2
  integer(c_int), parameter, public :: sparsecollInternalError = 3
  integer(c_int), parameter, public :: sparsecollInvalidArgument = 4
  integer(c_int), parameter, public :: sparsecollInvalidUsage = 5
  integer(c_int), parameter, public :: sparsecollRemoteError = 6
  integer(c_int), parameter, public :: sparsecollInProgress = 7
  integer(c_int), parameter, public :: sparsecollTimeout = 8
  integer(c_int), parameter, public :: sparsecollTruncated = 9

  ! Types of values.
  integer(c_int), parameter, public :: sparsecollInt32 = 2
  integer(c_int), parameter, public :: sparsecollInt64 = 4
  integer(c_int), parameter, public :: sparsecollFloat16 = 6
  integer(c_int), parameter, public :: sparsecollFloat32 = 7
  integer(c_int), parameter, public :: sparsecollFloat64 = 8
  integer(c_int), parameter, public :: sparsecollBfloat16 = 9

  ! Reductions.
  integer(c_int), parameter, public :: sparsecollSum = 0
  integer(c_int), parameter, public :: sparsecollAvg = 4

  ! Types of indices.
  integer(c_int), parameter, public :: sparsecollIndex32 = 0
  integer(c_int), parameter, public :: sparsecollIndex64 = 1

  ! Fields of a configuration.
  integer(c_int), parameter, public :: sparsecollAlgoAuto = 0
  integer(c_int), parameter, public :: sparsecollAlgoAllgather = 1
  integer(c_int), parameter, public :: sparsecollAlgoOktopk = 2
  integer(c_int), parameter, public :: sparsecollAlgoTopkA2A = 3
  integer(c_int), parameter, public :: sparsecollAlgoHierarchical = 4
  integer(c_int), parameter, public :: sparsecollAlgoDense = 5
  integer(c_int), parameter, public :: sparsecollAlgoSharded = 6
  integer(c_int), parameter, public :: sparsecollSelectExact = 0
  integer(c_int), parameter, public :: sparsecollSelectReuse = 1
  integer(c_int), parameter, public :: sparsecollResidualConserving = 0
  integer(c_int), parameter, public :: sparsecollResidualPaper = 1
  integer(c_int), parameter, public :: sparsecollWireNative = 0
  integer(c_int), parameter, public :: sparsecollWireBf16 = 1
  integer(c_int), parameter, public :: sparsecollWireInt8 = 2
  integer(c_int), parameter, public :: sparsecollNonFiniteKeep = 0
  integer(c_int), parameter, public :: sparsecollNonFiniteSkip = 1
  integer(c_int), parameter, public :: SPARSECOLL_DEVICE_HOST = -1

  ! Graphs of push-sum.
  integer(c_int), parameter, public :: sparsecollGraphExponential = 0
  integer(c_int), parameter, public :: sparsecollGraphNPeerExponential = 1
  integer(c_int), parameter, public :: sparsecollGraphRing = 2
  integer(c_int), parameter, public :: sparsecollGraphBipartiteExponential = 3
  integer(c_int), parameter, public :: sparsecollGraphCustom = 4

  !> The argument k of a v verb that asks for the exact sum of all entries.
  integer(c_size_t), parameter, public :: SPARSECOLL_ALL = -1_c_size_t
  !> The argument color of sparsecollCommSplit for a rank that joins no new
  !> communicator.
  integer(c_int), parameter, public :: SPARSECOLL_SPLIT_NOCOLOR = -1
  integer(c_int), parameter, public :: sparsecollStatsLast = 0
  integer(c_int), parameter, public :: sparsecollStatsTotal = 1

  !> A communicator. Its handle is c_null_ptr if there is none.
  type, bind(C), public :: sparsecollComm_t
    type(c_ptr) :: handle = c_null_ptr
  end type sparsecollComm_t

  !> The error-feedback state of one tensor on one rank.
  type, bind(C), public :: sparsecollResidual_t
    type(c_ptr) :: handle = c_null_ptr
  end type sparsecollResidual_t

  !> The push-sum state of one tensor on one rank: the handle of C, and the arguments of
  !> sparsecollPushSumCreate, with which arrays are compared.
  type, public :: sparsecollPushSum_t
    type(c_ptr) :: handle = c_null_ptr
    integer(c_size_t) :: count = 0
    integer(c_int) :: datatype = -1
  end type sparsecollPushSum_t

  !> Means no error feedback, like NULL in C.
  type(sparsecollResidual_t), parameter, public :: sparsecollNoResidual = sparsecollResidual_t()

  !> A sparse vector in coordinate form. Indices count from 0, as in C. The constructor
  !> sparsecollSparse_t(indices, values, count, nnz, blockSize) makes one from arrays.
  type, bind(C), public :: sparsecollSparse_t
    integer(c_size_t) :: size = 104
    integer(c_size_t) :: count = 0
    integer(c_size_t) :: nnz = 0
    integer(c_size_t) :: capacity = 0
    integer(c_size_t) :: needed = 0
    type(c_ptr) :: indices = c_null_ptr
    type(c_ptr) :: values = c_null_ptr
    integer(c_int) :: indexType = sparsecollIndex32
    integer(c_int) :: datatype = sparsecollFloat32
    type(c_ptr) :: nnzOnDevice = c_null_ptr
    integer(c_size_t) :: blockSize = 0
    type(c_ptr) :: reserved(3) = c_null_ptr
  end type sparsecollSparse_t

  !> The configuration of a communicator.
  type, bind(C), public :: sparsecollConfig_t
    integer(c_size_t) :: size = 80
    integer(c_int) :: magic = int(z'53504346', c_int)
    integer(c_int) :: version = SPARSECOLL_VERSION
    integer(c_int) :: blocking = 1
    integer(c_int) :: device = -huge(0_c_int) - 1
    integer(c_int) :: timeoutMs = 600000
    integer(c_int) :: algorithm = sparsecollAlgoAuto
    integer(c_int) :: selection = sparsecollSelectExact
    integer(c_int) :: residualRule = sparsecollResidualConserving
    integer(c_int) :: wire = sparsecollWireNative
    integer(c_int) :: repartitionInterval = 64
    integer(c_int) :: thresholdInterval = 32
    integer(c_int) :: allowReordered = 0
    integer(c_int) :: allowSharded = 0
    integer(c_int) :: expectedRanks = 0
    integer(c_size_t) :: denseBelow = 0
    integer(c_int) :: nonFinite = sparsecollNonFiniteKeep
  end type sparsecollConfig_t

  !> Statistics of one rank's verbs.
  type, bind(C), public :: sparsecollStats_t
    integer(c_size_t) :: size = 112
    integer(c_int) :: magic = int(z'53505354', c_int)
    integer(c_int) :: version = SPARSECOLL_VERSION
    integer(c_int) :: algorithm = 0
    integer(c_size_t) :: bytesSent = 0
    integer(c_size_t) :: bytesReceived = 0
    integer(c_size_t) :: messagesSent = 0
    integer(c_size_t) :: selected = 0
    integer(c_size_t) :: result = 0
    real(c_double) :: selectSeconds = 0
    real(c_double) :: packSeconds = 0
    real(c_double) :: exchangeSeconds = 0
    real(c_double) :: reduceSeconds = 0
    integer(c_size_t) :: abandonedBytes = 0
    integer(c_size_t) :: skipped = 0
  end type sparsecollStats_t

  !> The most levels of a topology.
  integer(c_int), parameter, public :: SPARSECOLL_MAX_LEVELS = 8

  !> The node and the groups of a rank. Element i of an array is for level i - 1 in C: level 1 is the node.
  !> Groups are numbered from 0.
  type, bind(C), public :: sparsecollTopology_t
    integer(c_size_t) :: size = 192
    integer(c_int) :: magic = int(z'5350544f', c_int)
    integer(c_int) :: version = SPARSECOLL_VERSION
    integer(c_int) :: levels = 0
    integer(c_int) :: group(SPARSECOLL_MAX_LEVELS) = 0
    integer(c_int) :: groups(SPARSECOLL_MAX_LEVELS) = 0
    integer(c_int) :: ranks(SPARSECOLL_MAX_LEVELS) = 0
    character(kind=c_char) :: source(64) = c_null_char
    integer(c_int) :: numaNode = -1
    integer(c_int) :: cores = -1
    integer(c_int) :: threads = -1
  end type sparsecollTopology_t

  !> The bytes of an id.
  integer(c_int), parameter, public :: SPARSECOLL_UNIQUE_ID_BYTES = 128

  !> The id of a communicator that is to be made: plain bytes.
  type, bind(C), public :: sparsecollUniqueId
    character(kind=c_char) :: internal(SPARSECOLL_UNIQUE_ID_BYTES) = c_null_char
  end type sparsecollUniqueId

  !> The configuration of push-sum.
  type, bind(C), public :: sparsecollPushSumConfig_t
    integer(c_size_t) :: size = 64
    integer(c_int) :: magic = int(z'53505053', c_int)
    integer(c_int) :: version = SPARSECOLL_VERSION
    integer(c_int) :: graph = sparsecollGraphExponential
    integer(c_int) :: peers = 1
    integer(c_int) :: maxDelay = 0
    integer(c_size_t) :: k = 0
    real(c_double) :: mixing = 1
    type(c_funptr) :: outNeighbours = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type sparsecollPushSumConfig_t
end module sparsecoll_types
