/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SPARSECOLL_SPARSECOLL_H_
#define SPARSECOLL_SPARSECOLL_H_

/**
 * @file
 * @brief The C API: sparse collectives for networks that are too slow for dense ones.
 *
 * The header is C99 and C++. It includes no header of MPI, CUDA or NCCL. sparsecoll_mpi.h declares
 * the function that makes a communicator over MPI. sparsecollCommInitAll() makes communicators
 * whose ranks are threads of one process, sparsecollCommInitNccl() one over NCCL.
 *
 * Terms
 *  - P is the number of ranks, n = `count` the dense length, k the number of entries to keep, and
 *    rho = k / n the density.
 *  - The accumulation type is float32 for float16 and bfloat16, and the type of the values for all
 *    other types.
 *  - acc = gradient + residual, computed in the accumulation type with one rounding.
 *  - top-k of x are the k entries of x with the largest magnitude. The lower index wins a tie.
 *    Zeros are never selected, so that fewer than k entries are returned when x has fewer
 *    non-zeros. NaN ranks above infinity, and infinity above every finite value. k > n means k = n.
 *    The magnitude is compared in the accumulation type: a selected value that rounds to zero in a
 *    16-bit type is sent as an explicit zero.
 *  - When a non-finite entry is sent, the residual keeps the literal 0 for it. When it is not sent,
 *    the residual keeps the entry. The library writes every NaN as the canonical quiet NaN.
 *  - A sum starts from the first value that is present; the library does not add 0 first. It
 *    returns -0 as +0.
 *  - 16-bit types: the library rounds each selected value of acc once to the datatype (to nearest,
 *    ties to even; a finite value that overflows becomes the largest finite one). The float32
 *    residual keeps acc minus what was sent. Sums are formed in float32, divided for
 *    sparsecollAvg, and rounded once on output.
 *
 * Calls, memory and threads
 *  - All ranks of a communicator call each "collective" function in the same order, with the same
 *    count, k, datatype, index type and op. When one rank's arguments are bad, that rank gets
 *    sparsecollInvalidArgument and all others get sparsecollInvalidUsage. When ranks disagree, all
 *    get sparsecollInvalidUsage. The message names the rank, the argument and both values. Outputs
 *    and residuals are unchanged, and the communicator stays usable.
 *  - A fatal error (sparsecollRemoteError, sparsecollTimeout, sparsecollSystemError,
 *    sparsecollInternalError, sparsecollUnhandledCudaError) poisons the communicator. Every later
 *    call that needs the peers returns that first error at once. Residuals can still be read and
 *    saved. Some ranks may have committed the call that failed and others not:
 *    sparsecollCommGetSequence() and the residuals show which. The contents of recvbuff are
 *    undefined.
 *  - Buffers are host memory or memory of a CUDA device (see The verbs). In-place calls (sendbuff
 *    == recvbuff) are allowed. Partial overlap is sparsecollInvalidArgument.
 *  - With blocking = 1 a call is complete when it returns, and the caller may use its buffers
 *    again.
 *  - With blocking = 0 the verbs, sparsecollPushSumDrain(), sparsecollTopk(), sparsecollScatter()
 *    and sparsecollScatterAt() only queue the call and return at once with sparsecollSuccess. The
 *    communicator's own thread makes the queued calls in order. Buffers, structs and counts belong
 *    to the library until sparsecollCommSynchronize() or sparsecollCommWait() returns; these two
 *    return the errors of queued calls. All other functions except queries and
 *    sparsecollCommAbort() first wait for the queued calls. Over MPI, blocking = 0 requires
 *    MPI_THREAD_MULTIPLE.
 *  - Only one thread at a time may use a communicator; a second one gets sparsecollInvalidUsage,
 *    and the message names both. Exceptions: any thread may at any time call sparsecollCommWait(),
 *    sparsecollCommNotify(), sparsecollCommAbort(), sparsecollCommDump(), sparsecollGetLastError()
 *    and the queries sparsecollCommRank(), CommCount, CommGetSequence, CommGetAsyncError and
 *    CommGetStats. Several threads may use different communicators at once. Over MPI this requires
 *    MPI_THREAD_MULTIPLE.
 *  - In a child of fork() every function on its parent's communicators, residuals and push-sum
 *    states returns sparsecollInvalidUsage at once. The child may make communicators of its own.
 *  - In a call pthread_cancel() has no effect; the thread ends at its next cancellation point after
 *    the call.
 *  - count = 0 and k = 0 are valid. With k = 0 the result is zero and residual += gradient.
 *  - Every call ends by its deadline, `timeoutMs` of the configuration.
 */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header: major * 10000 + minor * 100 + patch. */
#define SPARSECOLL_VERSION 100

#if defined(__GNUC__) || defined(__clang__)
/** Marks everything that the shared library exports. */
#define SPARSECOLL_API __attribute__((visibility("default")))
#else
#define SPARSECOLL_API
#endif

struct CUstream_st;
struct ncclComm;

/** A communicator of P ranks. A rank is a process (MPI, NCCL) or a thread of this process. */
typedef struct sparsecollComm* sparsecollComm_t;
/** The error-feedback state of one tensor on one rank. */
typedef struct sparsecollResidual* sparsecollResidual_t;
/** The push-sum state of one tensor on one rank. */
typedef struct sparsecollPushSum* sparsecollPushSum_t;
/** A cudaStream_t. Pass NULL with host buffers. With device buffers NULL is the legacy default
 *  stream. */
typedef struct CUstream_st* sparsecollStream_t;

/** The result of every function. The values 0 to 7 are those of NCCL. */
typedef enum {
  sparsecollSuccess = 0,
  sparsecollUnhandledCudaError = 1, /**< a CUDA call failed */
  sparsecollSystemError = 2,        /**< memory, a file or the layer below (MPI) failed */
  sparsecollInternalError = 3,      /**< a bug in this library */
  sparsecollInvalidArgument = 4,    /**< nothing was done; the communicator stays usable */
  sparsecollInvalidUsage = 5,       /**< ranks disagree, or the state does not allow the call */
  sparsecollRemoteError = 6,        /**< a peer failed or sent a damaged message */
  sparsecollInProgress = 7,         /**< queued work is not done yet */
  sparsecollTimeout = 8,            /**< a deadline passed; the message names the missing ranks */
  sparsecollTruncated = 9,          /**< an output was too small; `needed` holds the required
                                         capacity, and sparsecollFetch() gets the data */
  sparsecollResultMaxEnum = 0x7fffffff
} sparsecollResult_t;

/**
 * The type of the values, numbered as in NCCL. Only sparseAlltoall(), and sparseAllreducev() and
 * gtopkAllreducev() with SPARSECOLL_ALL and sparsecollSum, accept integers. Integer sums wrap. All
 * other functions return sparsecollInvalidArgument for integers.
 */
typedef enum {
  sparsecollInt32 = 2,    /**< int32_t */
  sparsecollInt64 = 4,    /**< int64_t */
  sparsecollFloat16 = 6,  /**< IEEE binary16, accumulated in float32 */
  sparsecollFloat32 = 7,  /**< float */
  sparsecollFloat64 = 8,  /**< double */
  sparsecollBfloat16 = 9, /**< the upper half of a float32, accumulated in float32 */
  sparsecollDataTypeMaxEnum = 0x7fffffff
} sparsecollDataType_t;

/** The reduction, numbered as in NCCL. */
typedef enum {
  sparsecollSum = 0,
  sparsecollAvg = 4, /**< the sum divided by P */
  sparsecollRedOpMaxEnum = 0x7fffffff
} sparsecollRedOp_t;

/** The type of the indices of a sparse vector. */
typedef enum {
  sparsecollIndex32 = 0, /**< uint32_t */
  sparsecollIndex64 = 1, /**< uint64_t */
  sparsecollIndexTypeMaxEnum = 0x7fffffff
} sparsecollIndexType_t;

/** The algorithm of sparseAllreduce() and sparseAllreducev(); see docs/algorithms.md. */
typedef enum {
  sparsecollAlgoAuto = 0,      /**< the fastest exact algorithm, by a cost model and by trials */
  sparsecollAlgoAllgather = 1, /**< classic Top-k: Bruck allgather of the selections, then top-k */
  sparsecollAlgoOktopk = 2,    /**< Ok-Topk (Li & Hoefler, PPoPP 2022) with exact selection */
  /** top-k of every shard, all-to-all, allgather (Peng et al., ICPP 2024; Z. Li, HKUST 2024). Its
   *  result has another definition; it is meant for high densities. */
  sparsecollAlgoTopkA2A = 3,
  /** The ranks of one node add their selections, and one rank of each node runs Ok-Topk over the
   *  nodes. Sums round in another order. */
  sparsecollAlgoHierarchical = 4,
  sparsecollAlgoDense = 5, /**< dense allreduce of acc without a selection. The residual becomes 0.
                                Exception: when sparsecollAlgoAuto takes it for k = n, the residual
                                keeps the entries whose sum is zero */
  /** The gradients of a node are added before anything is selected. Each rank selects from one
   *  shard of the sum, and exchanges the entries with the owners of the same shard on other nodes
   *  (HiTopKComm, Shi et al., MLSys 2021). The result has another definition (docs/semantics.md),
   *  and a residual holds one shard only. */
  sparsecollAlgoSharded = 6,
  sparsecollAlgoMaxEnum = 0x7fffffff
} sparsecollAlgo_t;

/** How entries are selected. */
typedef enum {
  sparsecollSelectExact = 0, /**< exactly the k largest */
  sparsecollSelectReuse = 1, /**< all entries above estimated thresholds, about k, as Ok-Topk does;
                                requires sparsecollAlgoAuto or sparsecollAlgoOktopk */
  sparsecollSelectMaxEnum = 0x7fffffff
} sparsecollSelect_t;

/** What gtopkAllreduce() leaves in the residual. */
typedef enum {
  sparsecollResidualConserving = 0, /**< sum of residuals + delivered = sum of acc, always */
  sparsecollResidualPaper = 1,      /**< as published (Shi et al., ICDCS 2019); loses mass */
  sparsecollResidualRuleMaxEnum = 0x7fffffff
} sparsecollResidualRule_t;

/** The format of values in messages. */
typedef enum {
  sparsecollWireNative = 0, /**< values are sent unchanged */
  /** Values are rounded to bfloat16, to nearest, ties to even, and sent in 2 bytes. Finite values
   *  stay finite. The rank that rounds a value also uses the rounded value, and adds the rounding
   *  error to its own residual. This is the rank that selected the entry; where sums are sent, it
   *  is the rank that formed the sum, if the sum is delivered. With residual = NULL the error is
   *  lost. The setting applies to sparseAllreduce() (except sparsecollAlgoDense),
   *  gtopkAllreduce(), their `v` forms and sparseReduceScatter(). Integers, sparseAlltoall() and
   *  pushSumStep() ignore it. See docs/semantics.md. */
  sparsecollWireBf16 = 1,
  /** Values are rounded to 8 bits, with a scale of one byte for a few hundred neighbouring entries.
   *  The scale is a power of two, so that a value and its rounding error add up exactly. Otherwise
   *  as sparsecollWireBf16; but ranks of one node get the sums of Sharded and Hierarchical in the
   *  accumulation type. See docs/semantics.md. */
  sparsecollWireInt8 = 2,
  sparsecollWireMaxEnum = 0x7fffffff
} sparsecollWire_t;

/** What a call does with its residuals if values are not finite, as after an overflow in a
 *  training with loss scaling. */
typedef enum {
  sparsecollNonFiniteKeep = 0, /**< the same as with finite values */
  /** If acc of any rank has a NaN or an infinity, the residual of every rank stays as it was before
   *  the call. The result is that of sparsecollNonFiniteKeep: unless k is 0, it has an entry that
   * is not finite. The call returns sparsecollSuccess, and `skipped` of the statistics counts it.
   * In a group each call decides for itself. In the `v` verbs the entries of `send` stand for acc.
   *  pushSumStep(), sparsecollTopk() and integers ignore the setting. A communicator over NCCL
   *  cannot have the setting: its init returns sparsecollInvalidArgument. See docs/semantics.md. */
  sparsecollNonFiniteSkip = 1,
  sparsecollNonFiniteMaxEnum = 0x7fffffff
} sparsecollNonFinite_t;

/** The out-neighbours of a rank in a step of pushSumStep(). Distances are modulo P. With d
 *  out-neighbours, each of them gets the share 1 / (d + 1) of (x, w), and the rank keeps the same
 *  share. */
typedef enum {
  sparsecollGraphExponential = 0,          /**< one, at distance 2^(t mod ceil(log2 P)) */
  sparsecollGraphNPeerExponential = 1,     /**< with p = `peers`: those at distances j (p + 1)^i for
                                                j = 1 .. p, where i = t mod (the number of powers of
                                                p + 1 below P), without self-loops and duplicates */
  sparsecollGraphRing = 2,                 /**< one, at distance 1 */
  sparsecollGraphBipartiteExponential = 3, /**< one, between even and odd ranks: at distances 1, -1,
                                                3, -3, 5, -5, 9, ... in turn */
  sparsecollGraphCustom = 4,               /**< those that `outNeighbours` returns */
  sparsecollGraphKindMaxEnum = 0x7fffffff
} sparsecollGraphKind_t;

/** The `k` of a `v` verb that asks for the exact sum of all entries, with explicit zeros and
 *  cancelled entries. */
#define SPARSECOLL_ALL ((size_t)-1)
/** The `color` of sparsecollCommSplit() for a rank that joins no new communicator. */
#define SPARSECOLL_SPLIT_NOCOLOR (-1)
/** The `device` of a configuration that allows host memory only. */
#define SPARSECOLL_DEVICE_HOST (-1)

/** The bytes of a sparsecollUniqueId. */
#define SPARSECOLL_UNIQUE_ID_BYTES 128
/** The id of a communicator that is to be made; see sparsecollGetUniqueId(). Plain bytes. */
typedef struct {
  char internal[SPARSECOLL_UNIQUE_ID_BYTES]; /**< the library's */
} sparsecollUniqueId;

/** Values of `which` for sparsecollCommGetStats(). */
enum {
  sparsecollStatsLast = 0, /**< the last collective call */
  sparsecollStatsTotal = 1 /**< all collective calls so far */
};

/**
 * A sparse vector in coordinate form. Start from SPARSECOLL_SPARSE_INITIALIZER.
 *
 * With `blockSize` = b above 1 it is a vector of blocks, such as the rows of a table: an entry is
 * an index and b values, entry j has values[j * b] to values[j * b + b - 1], and `count`, `nnz`,
 * `capacity` and `needed` are numbers of blocks; so are the `count`, `k` and `bounds` of functions.
 * All ranks pass the same blockSize. docs/semantics.md says which calls accept blocks; the others
 * return sparsecollInvalidArgument.
 */
typedef struct {
  size_t size;         /**< sizeof the struct, set by the initializer */
  size_t count;        /**< dense length; indices are below it */
  size_t nnz;          /**< number of entries in use */
  size_t capacity;     /**< number of entries that the two arrays can hold */
  size_t needed;       /**< out, on sparsecollTruncated: the required capacity */
  void* indices;       /**< indexType[capacity], strictly increasing, each < count */
  void* values;        /**< datatype[capacity * blockSize] */
  int indexType;       /**< sparsecollIndexType_t */
  int datatype;        /**< sparsecollDataType_t */
  size_t* nnzOnDevice; /**< NULL: nnz is the number of entries. Otherwise the arrays are on a
                            device, and this points to the number in memory of that device, read
                            or written in stream order; nnz is then an upper bound */
  size_t blockSize;    /**< number of values of an entry; 0 means 1 */
  void* reserved[3];   /**< zero */
} sparsecollSparse_t;

/** An empty sparse vector of float32 with 32-bit indices. */
#define SPARSECOLL_SPARSE_INITIALIZER                                                       \
  {                                                                                         \
    sizeof(sparsecollSparse_t), 0, 0, 0, 0, NULL, NULL, 0, 7, NULL, 0, { NULL, NULL, NULL } \
  }

/**
 * The configuration of a communicator. Start from SPARSECOLL_CONFIG_INITIALIZER: a struct that was
 * not initialized so is sparsecollInvalidArgument. The environment variables SPARSECOLL_ALGO,
 * SPARSECOLL_SELECT, SPARSECOLL_WIRE, SPARSECOLL_ALLOW_SHARDED, SPARSECOLL_DENSE_BELOW,
 * SPARSECOLL_EXPECTED_RANKS, SPARSECOLL_NON_FINITE and SPARSECOLL_TIMEOUT_MS override it
 * (docs/environment.md). All ranks must agree on every field except `device`.
 */
typedef struct {
  size_t size;      /**< sizeof the struct, set by the initializer */
  unsigned magic;   /**< set by the initializer */
  unsigned version; /**< set by the initializer */
  int blocking;     /**< 1: calls return when they are done; 0: calls are queued */
  int device;       /**< CUDA device whose memory buffers may be in, besides host memory. INT_MIN:
                         the current device at init if CUDA is in use, otherwise the device of the
                         first device buffer. SPARSECOLL_DEVICE_HOST: none */
  int timeoutMs;    /**< deadline of a call in milliseconds; 0 = none */
  int algorithm;    /**< sparsecollAlgo_t of sparseAllreduce() and sparseAllreducev();
                         sparsecollAlgoSharded also of sparseReduceScatter() */
  int selection;    /**< sparsecollSelect_t */
  int residualRule; /**< sparsecollResidualRule_t of gtopkAllreduce() and gtopkAllreducev() */
  int wire;         /**< sparsecollWire_t */
  int repartitionInterval; /**< Oktopk: number of calls of one shape after which the regions are
                                divided anew, at least 1 */
  int thresholdInterval;   /**< sparsecollSelectReuse: number of calls after which thresholds are
                                computed anew, at least 1 */
  int allowReordered; /**< 1 allows Auto to take sparsecollAlgoHierarchical, whose sums round in
                           another order; 0 does not */
  int allowSharded;   /**< 1 allows Auto to take sparsecollAlgoSharded, which has another
                           definition; 0 does not */
  int expectedRanks;  /**< the number of ranks that the communicator must have, or init is
                           InvalidUsage; 0: any. A split does not inherit it */
  size_t denseBelow;  /**< sparseAllreduce(), gtopkAllreduce() and sparseReduceScatter() of fewer
                           values than this behave as with k = count: small tensors are sent
                           whole; 0: none are */
  int nonFinite;      /**< sparsecollNonFinite_t */
} sparsecollConfig_t;

/** The default configuration. */
#define SPARSECOLL_CONFIG_INITIALIZER                                                            \
  {                                                                                              \
    sizeof(sparsecollConfig_t), 0x53504346u, SPARSECOLL_VERSION, 1, INT_MIN, 600000, 0, 0, 0, 0, \
        64, 32, 0, 0, 0, 0, 0                                                                    \
  }

/** Statistics of one rank's verbs. What a first call sends to measure the network is not counted.
 *  Start from SPARSECOLL_STATS_INITIALIZER. Later versions add fields at the end. */
typedef struct {
  size_t size;            /**< sizeof the struct, set by the initializer */
  unsigned magic;         /**< set by the initializer */
  unsigned version;       /**< set by the initializer */
  int algorithm;          /**< the algorithm of the last call, a sparsecollAlgo_t */
  size_t bytesSent;       /**< bytes that this rank sent, with headers and counters */
  size_t bytesReceived;   /**< bytes that this rank received, with headers and counters */
  size_t messagesSent;    /**< messages that this rank sent */
  size_t selected;        /**< entries that this rank selected or passed in */
  size_t result;          /**< entries in the result */
  double selectSeconds;   /**< seconds to accumulate, select and update the residual */
  double packSeconds;     /**< seconds to pack and unpack messages */
  double exchangeSeconds; /**< seconds of waiting for messages */
  double reduceSeconds;   /**< seconds to merge, select again and write the result */
  size_t abandonedBytes;  /**< bytes that are never freed because an abandoned message may still
                               access them */
  size_t skipped;         /**< calls whose residuals stayed as they were by
                               sparsecollNonFiniteSkip; each call of a group counts */
} sparsecollStats_t;

/** Initializes the struct with zeros. The struct is an output. */
#define SPARSECOLL_STATS_INITIALIZER                                                             \
  {                                                                                              \
    sizeof(sparsecollStats_t), 0x53505354u, SPARSECOLL_VERSION, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, \
        0.0, 0, 0                                                                                \
  }

/** The most levels of a topology. */
#define SPARSECOLL_MAX_LEVELS 8

/** The node and the groups of a rank. Start from SPARSECOLL_TOPOLOGY_INITIALIZER. The arrays have
 * an element for each level. Level 0 is the node, then the groups outwards. Unused elements are 0.
 */
typedef struct {
  size_t size;                       /**< sizeof the struct, set by the initializer */
  unsigned magic;                    /**< set by the initializer */
  unsigned version;                  /**< SPARSECOLL_VERSION, set by the initializer */
  int levels;                        /**< number of levels, at least 1 */
  int group[SPARSECOLL_MAX_LEVELS];  /**< this rank's group; numbered by lowest rank */
  int groups[SPARSECOLL_MAX_LEVELS]; /**< number of groups */
  int ranks[SPARSECOLL_MAX_LEVELS];  /**< number of ranks in this rank's group */
  char source[64];                   /**< "file" or "slurm"; "hwloc": nodes only, as the machines
                                          say */
  int numaNode;                      /**< of this rank; -1: unknown, or several */
  int cores;                         /**< number that this rank may use; -1: unknown */
  int threads;                       /**< number that select entries, the caller included */
} sparsecollTopology_t;

/** A topology without levels. */
#define SPARSECOLL_TOPOLOGY_INITIALIZER                                                          \
  {                                                                                              \
    sizeof(sparsecollTopology_t), 0x5350544f, SPARSECOLL_VERSION, 0, {0}, {0}, {0}, {0}, -1, -1, \
        -1                                                                                       \
  }

/** The configuration of push-sum. Start from SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER. All ranks must
 *  agree on every field except `outNeighbours` and `user`, which must describe the same graph on
 *  all ranks. */
typedef struct {
  size_t size;      /**< sizeof the struct, set by the initializer */
  unsigned magic;   /**< set by the initializer */
  unsigned version; /**< set by the initializer */
  int graph;        /**< sparsecollGraphKind_t */
  int peers;        /**< p of sparsecollGraphNPeerExponential, at least 1; 1 with other graphs */
  int maxDelay;     /**< tau. 0: every step waits for its messages. tau > 0: a step waits only for
                         messages that are tau steps old or older. -1: a step never waits */
  size_t k;         /**< 0: messages hold all values. Above 0: compressed gossip with k entries in
                         each message */
  double mixing;    /**< gamma of compressed gossip, 0 < mixing <= 1: the share of p that moves */
  /** The graph function of sparsecollGraphCustom; NULL with other graphs. It writes the
   *  out-neighbours of any rank in any step, and for each the share p > 0 of (x, w) that it gets.
   *  The rank keeps the rest of 1. It returns their number, at most `capacity` = P - 1. It must
   *  give the same answer on all ranks and at all times. The thread that runs the step calls it.
   *  It may call queries and sparsecollCommAbort() on the communicator; all else is
   *  sparsecollInvalidUsage in it. An exception that it throws is treated as a wrong answer. */
  int (*outNeighbours)(void* user, int rank, int nranks, uint64_t step, int* neighbours,
                       double* weights, int capacity);
  /** The first argument of outNeighbours. The caller owns it and keeps it while the state lives. */
  void* user;
} sparsecollPushSumConfig_t;

/** The default configuration of push-sum. */
#define SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER                                                  \
  {                                                                                            \
    sizeof(sparsecollPushSumConfig_t), 0x53505053u, SPARSECOLL_VERSION, 0, 1, 0, 0, 1.0, NULL, \
        NULL                                                                                   \
  }

/**
 * @defgroup initializers Initializers as functions
 *
 * These functions are for languages that have no macros of C. Each sets the first `size` bytes of
 * the struct, as the macro of the same name would, and its field `size`. Pass the size of the
 * struct as your program declares it: with an older header it is smaller, and the library then does
 * not touch the fields behind its end. Bytes behind those that the library knows become 0. Local.
 * They return sparsecollInvalidArgument for NULL, and for a size in which the first fields do not
 * fit, up to and including `version`.
 * @{
 */

/** @brief SPARSECOLL_CONFIG_INITIALIZER as a function. @return sparsecollInvalidArgument. */
SPARSECOLL_API sparsecollResult_t sparsecollConfigInit(sparsecollConfig_t* config, size_t size);
/** @brief SPARSECOLL_STATS_INITIALIZER as a function. @return sparsecollInvalidArgument. */
SPARSECOLL_API sparsecollResult_t sparsecollStatsInit(sparsecollStats_t* stats, size_t size);
/** @brief SPARSECOLL_TOPOLOGY_INITIALIZER as a function. @return sparsecollInvalidArgument. */
SPARSECOLL_API sparsecollResult_t sparsecollTopologyInit(sparsecollTopology_t* topology,
                                                         size_t size);
/**
 * @brief SPARSECOLL_SPARSE_INITIALIZER as a function.
 * @return sparsecollInvalidArgument, also for a size below that of the struct in version 0.1.
 */
SPARSECOLL_API sparsecollResult_t sparsecollSparseInit(sparsecollSparse_t* sparse, size_t size);
/** @brief SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER as a function. @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumConfigInit(sparsecollPushSumConfig_t* config,
                                                              size_t size);

/** @} */

/**
 * @defgroup communicators Communicators
 * @{
 */

/**
 * @brief Makes `nranks` communicators whose ranks are threads of this process.
 *
 * Local: one thread makes all of them. Afterwards thread r uses comms[r].
 * @param comms   out: nranks handles.
 * @param nranks  P, at least 1.
 * @param devices nranks values, each valid as `device` of a configuration; ranks may share a
 *                device. NULL: every rank has the device of the configuration.
 * @param config  the configuration of all of them; NULL = defaults.
 * @return sparsecollInvalidArgument, or sparsecollSystemError if an allocation fails. On failure no
 *         communicator exists, and sparsecollGetLastError(NULL) says why.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitAll(sparsecollComm_t* comms, int nranks,
                                                        const int* devices,
                                                        const sparsecollConfig_t* config);

/**
 * @brief Returns the id of a communicator that is to be made, for sparsecollCommInitRank().
 *
 * Local. One process calls it and brings the id to all ranks by any means: it is plain bytes, which
 * may be copied, sent and written to a file. The id holds the address of this process, which must
 * live until all ranks are initialised, and a secret: who knows it can join. The address is that of
 * the first network interface that is up, or of the one that SPARSECOLL_SOCKET_IFNAME names.
 * @param id out. One communicator can be made with it.
 * @return sparsecollInvalidArgument, also if no interface matches SPARSECOLL_SOCKET_IFNAME;
 *         sparsecollSystemError. On failure sparsecollGetLastError(NULL) says why.
 */
SPARSECOLL_API sparsecollResult_t sparsecollGetUniqueId(sparsecollUniqueId* id);

/**
 * @brief Makes a communicator of the ranks that pass the same id. Collective.
 *
 * It needs no launcher. Messages are sent over UCX, which the library loads at run time. The ranks
 * may be processes, on one machine or several, and threads of a process. Until its deadline each
 * rank waits for the others.
 * @param comm   out.
 * @param nranks P, at least 1.
 * @param id     from sparsecollGetUniqueId().
 * @param rank   the number of this rank, 0 to nranks - 1.
 * @param config NULL = defaults. All ranks must agree on it and on the environment variables,
 *               except for the device.
 * @return sparsecollInvalidArgument for nranks, rank, and an invalid id; sparsecollInvalidUsage
 *         when two ranks pass the same number, when nranks, the versions of the library or the
 *         configurations differ, when the id was used before, or when the library was built without
 *         UCX; sparsecollTimeout, which names the missing ranks; sparsecollRemoteError;
 *         sparsecollSystemError, also when UCX is not installed. On failure there is no
 *         communicator, and sparsecollGetLastError(NULL) says why.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitRank(sparsecollComm_t* comm, int nranks,
                                                         sparsecollUniqueId id, int rank,
                                                         const sparsecollConfig_t* config);

/**
 * @brief Gathers what all ranks pass, out of band. See sparsecollCommInitOob().
 * @param user  from sparsecollCommInitOob().
 * @param mine  `bytes` bytes of this rank.
 * @param all   out: nranks * bytes, by rank.
 * @param bytes the same number on all ranks.
 * @return 0 when it is done; any other value makes the init fail.
 */
typedef int (*sparsecollAllgather_t)(void* user, const void* mine, void* all, size_t bytes);

/**
 * @brief Makes a communicator like sparsecollCommInitRank(), for programs with a store of their
 *        own: the ranks find each other through `allgather`. Collective.
 * @param comm      out.
 * @param nranks    P, at least 1.
 * @param rank      the number of this rank, 0 to nranks - 1.
 * @param allgather called a few times before the function returns, by the calling thread. It may
 *                  wait for the other ranks; the deadline does not interrupt it.
 * @param user      passed to `allgather`.
 * @param config    NULL = defaults. All ranks must agree on it and on the environment variables,
 *                  except for the device.
 * @return sparsecollInvalidArgument for nranks, rank or `allgather`; sparsecollSystemError when
 *         `allgather` returns another value than 0 and when UCX is not installed; otherwise as
 *         sparsecollCommInitRank().
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitOob(sparsecollComm_t* comm, int nranks,
                                                        int rank, sparsecollAllgather_t allgather,
                                                        void* user,
                                                        const sparsecollConfig_t* config);

/**
 * @brief Does the same as sparsecollCommInitMpi() with a communicator of MPI in its Fortran form:
 *        for languages without MPI_Comm. Loads libsparsecoll_mpi.so unless linked. Collective.
 * @param comm        out.
 * @param fortranComm what MPI_Comm_c2f() returns; in Python mpi4py's comm.py2f().
 * @param config      NULL = defaults.
 * @return as sparsecollCommInitMpi(); sparsecollSystemError when libsparsecoll_mpi.so cannot be
 *         loaded; sparsecollInvalidUsage in a static program without libsparsecoll_mpi.a.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitMpiFint(sparsecollComm_t* comm, int fortranComm,
                                                            const sparsecollConfig_t* config);

/**
 * @brief Makes a communicator over the ranks of `nccl`. Collective over `nccl`.
 *
 * The function splits an NCCL communicator of its own from `nccl`. Afterwards, also after an error,
 * the library does not call NCCL with `nccl`, and it never aborts it. There is one exception: when
 * `nccl` is blocking and ranks are missing, a thread of the library stays in ncclCommSplit() until
 * they come or the program aborts `nccl`. All buffers must be in memory of the CUDA device of
 * `nccl`.
 *
 * Verbs are ordered on `stream` like calls of NCCL. gtopkAllreduce() and pushSumStep() do not make
 * the host wait, and can be captured into CUDA graphs after one call of the same shape. All other
 * verbs wait on the host for the sizes of messages. With blocking = 0 calls are queued as on every
 * communicator, and sparsecollCommStreamWait() orders a stream after them.
 *
 * The first call of a shape (verb and arguments) compares the arguments of all ranks. When they
 * differ, every rank gets an error and the communicator stays usable. Messages of later calls only
 * carry the number and the shape of their call, and a difference is fatal. With SPARSECOLL_CHECK=1
 * every call compares the arguments. A bad argument in a later call of a shape is
 * sparsecollInvalidArgument on that rank only. That rank has not made the call, and its peers wait
 * for it until their deadline. NCCL does not report which ranks are missing, so that the message of
 * sparsecollTimeout does not name them.
 *
 * @param comm   out.
 * @param nccl   an idle communicator of NCCL 2.28 or later; the caller keeps it. The library looks
 *               for the NCCL that made it in the process: linked by the program, or loaded as
 *               libnccl.so.2.
 * @param config NULL = defaults. `device` must be that of `nccl` or keep its default.
 * @return sparsecollInvalidArgument; sparsecollInvalidUsage when the library was built without
 *         NCCL, when the process has no NCCL or an older one, or when the ranks' configurations
 *         differ; sparsecollTimeout; sparsecollRemoteError; sparsecollSystemError;
 *         sparsecollUnhandledCudaError. On failure there is no communicator, and
 *         sparsecollGetLastError(NULL) says why.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitNccl(sparsecollComm_t* comm,
                                                         struct ncclComm* nccl,
                                                         const sparsecollConfig_t* config);

/**
 * @brief Makes one communicator for each color, of the ranks that passed it. Collective over
 *        `comm`.
 *
 * The function first waits for queued calls. The new communicators are independent of `comm` and
 * may outlive it. The deadline is that of `comm`, and sparsecollCommAbort() of `comm` ends the
 * call.
 * @param color   0 or more, or SPARSECOLL_SPLIT_NOCOLOR.
 * @param key     orders the new ranks; equal keys are ordered by rank in `comm`.
 * @param newcomm out; NULL for SPARSECOLL_SPLIT_NOCOLOR.
 * @param config  the configuration on which the ranks of one color agree; NULL = that of `comm`,
 *                without reading environment variables again.
 * @return sparsecollInvalidArgument or sparsecollInvalidUsage, after which `comm` stays usable, or
 *         a fatal error. When the ranks of one color pass different configurations, that color has
 *         no communicator, and the others have theirs.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommSplit(sparsecollComm_t comm, int color, int key,
                                                      sparsecollComm_t* newcomm,
                                                      const sparsecollConfig_t* config);

/** @brief Returns this rank's number, 0 to P - 1. Local. @return sparsecollInvalidArgument. */
SPARSECOLL_API sparsecollResult_t sparsecollCommRank(sparsecollComm_t comm, int* rank);

/** @brief Returns the number of ranks, P. Local. @return sparsecollInvalidArgument. */
SPARSECOLL_API sparsecollResult_t sparsecollCommCount(sparsecollComm_t comm, int* count);

/**
 * @brief Returns the number of the last collective call on this communicator; 0 = none yet. Local.
 *
 * Calls that failed count; local functions do not; a group counts as one call. With blocking = 0
 * the result is the number of the last call that was queued, which sparsecollCommWait() takes.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetSequence(sparsecollComm_t comm,
                                                            uint64_t* sequence);

/**
 * @brief Waits for every queued call. Local; returns at once with blocking = 1.
 *
 * A failure of a queued call is never lost. 1,024 errors that were not returned are kept one by
 * one. When there are more, the errors of consecutive calls are joined into one, that of the first
 * call; if no two calls are consecutive, the last two errors are joined, and cover the calls
 * between them, too.
 * @return the first error of a queued call that was not returned before; its message names the
 *         call or calls. Errors that follow from a fatal one are dropped. If the error is
 *         sparsecollTruncated, sparsecollFetch() gets the result, provided that no other verb was
 *         queued after the call. sparsecollInvalidUsage while a group is open;
 *         sparsecollInvalidArgument; the first fatal error of a poisoned communicator.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommSynchronize(sparsecollComm_t comm);

/**
 * @brief Waits until the collective call with number `sequence` and all calls before it are done.
 *        Local; any thread may call it, also while others make or queue calls.
 *
 * With blocking = 1 it waits for a call that another thread makes.
 * @param sequence what sparsecollCommGetSequence() returned right after the call.
 * @return the first error of the queued calls up to that one that was not returned before, as
 *         sparsecollCommSynchronize(); if there is none, the error of the call itself, also when it
 *         was returned before; sparsecollInvalidArgument when no call has this number yet;
 *         sparsecollInvalidUsage in a callback of the communicator; the first fatal error of a
 *         poisoned communicator.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommWait(sparsecollComm_t comm, uint64_t sequence);

/**
 * The caller's function that sparsecollCommNotify() calls.
 * @param user     the pointer that was passed with the function.
 * @param sequence the number of the call.
 * @param result   the result of the call.
 */
typedef void (*sparsecollNotify_t)(void* user, uint64_t sequence, sparsecollResult_t result);

/**
 * @brief Calls `done` once, when the collective call with number `sequence` has ended. Local; any
 *        thread may call it.
 *
 * With blocking = 0 the thread of the communicator calls `done`: after the call and before the next
 * one, or at once if the call has ended already and no other one runs; also when the communicator
 * is aborted or destroyed meanwhile. Further calls wait until `done` has returned: keep it short.
 * With blocking = 1 the calling thread calls it, before this function returns. Then the result is
 * complete, in memory of a device, too.
 *
 * In `done` every function on this communicator, its residuals and its push-sum states returns
 * sparsecollInvalidUsage; another thread must make such calls. An exception that `done` throws is
 * sparsecollInvalidUsage, with its text, which with blocking = 1 this function returns, otherwise
 * sparsecollCommWait() or sparsecollCommSynchronize(). The call and the communicator are not
 * affected.
 * @param sequence what sparsecollCommGetSequence() returned right after the call.
 * @param done     the function. It gets the result of the call, also if that was returned before:
 *                 the results of many calls that failed are joined, see docs/errors.md.
 * @param user     the first argument of `done`.
 * @return sparsecollInvalidArgument when `done` is NULL or no call has this number yet,
 *         sparsecollInvalidUsage, sparsecollSystemError when memory is short. After an error `done`
 *         will not be called, unless it threw.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommNotify(sparsecollComm_t comm, uint64_t sequence,
                                                       sparsecollNotify_t done, void* user);

/**
 * @brief Makes `stream` wait for the device work of every call so far. Local.
 *
 * The host waits until the queued calls were made, but not until their device work is done. With
 * blocking = 0, work on a stream sees results in device memory only after this function. It does
 * nothing if no call had device buffers.
 * @param stream a stream of the communicator's device; NULL = the legacy default stream.
 * @return sparsecollInvalidArgument; sparsecollInvalidUsage while a group is open or for a stream
 *         that is being captured; sparsecollUnhandledCudaError when CUDA refuses the stream; the
 *         first fatal error of a poisoned communicator. Other errors of queued calls are returned
 *         by sparsecollCommSynchronize() and sparsecollCommWait().
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommStreamWait(sparsecollComm_t comm,
                                                           sparsecollStream_t stream);

/**
 * @brief Frees a communicator, its residuals and its push-sum states. All their handles become
 *        invalid.
 *
 * Queued calls are done first; calls that are still queued at the deadline are aborted. Over MPI,
 * UCX and NCCL the function is collective while the communicator is healthy. All its waits have one
 * deadline, `timeoutMs` after the call. Over MPI it must be called before MPI_Finalize. On a
 * poisoned communicator it is local and bounded. Between threads of one process it waits for queued
 * calls only, so that one thread can destroy all of them in turn; a peer that still waits for this
 * rank gets sparsecollRemoteError.
 * @return sparsecollInvalidArgument for a handle that is not a communicator's or was destroyed
 *         before. sparsecollInvalidUsage when another thread is inside a call on it, while a group
 *         is open, or when peers make another call: nothing is freed, and the handle stays valid.
 *         sparsecollTimeout when the deadline passed, sparsecollInvalidUsage after an abort during
 *         the call, or another fatal error, also of a queued call meanwhile: the function frees
 *         what can be freed safely, and the handle becomes invalid.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommDestroy(sparsecollComm_t comm);

/**
 * @brief Aborts whatever this rank is doing on `comm`. Any thread may call it.
 *
 * Local and bounded; calls no MPI function. A call that waits returns sparsecollInvalidUsage within
 * a second. The communicator is poisoned, and the handle stays valid until
 * sparsecollCommDestroy().
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommAbort(sparsecollComm_t comm);

/**
 * @brief Returns the state of the communicator without waiting. Local; any thread may call it.
 * @param asyncError out: the error that poisoned the communicator; otherwise sparsecollInProgress
 *                   while queued calls are not done; otherwise sparsecollSuccess.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetAsyncError(sparsecollComm_t comm,
                                                              sparsecollResult_t* asyncError);

/**
 * @brief Returns statistics of this rank's verbs. Local.
 * @param which sparsecollStatsLast or sparsecollStatsTotal.
 * @param stats out; only its first `size` bytes are written.
 * @return sparsecollInvalidArgument, also for a struct that was not initialized.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetStats(sparsecollComm_t comm, int which,
                                                         sparsecollStats_t* stats);

/**
 * @brief Returns the node and the groups of this rank, level by level. Call it on all ranks
 * the first time; then it is local.
 *
 * Level 0 is the node: the ranks that share a machine and its network. The levels above come from
 * the file that SPARSECOLL_TOPOLOGY names, or else from Slurm, if it says where all nodes are. In a
 * communicator made by sparsecollCommSplit() the ranks are where they were in its parent. See
 * docs/topology.md.
 * @param topology out; only its first `size` bytes are written. numaNode and cores are those of the
 *                 CPUs on which the calling thread may run.
 * @return sparsecollInvalidArgument, also for a struct that was not initialized.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetTopology(sparsecollComm_t comm,
                                                            sparsecollTopology_t* topology);

/**
 * @brief Returns the ranks that are known to be gone: they have destroyed the communicator, or did
 * not take part in a sparsecollCommShrink() within its deadline. Local.
 *
 * A rank that is missing in a call may only be slow, and is not returned. Over MPI no rank is known
 * to be gone before sparsecollCommShrink() has waited for it, unless MPI has failed to send to it.
 * Over NCCL no rank ever is.
 * @param ranks out: their numbers, rising, at most as many as there is room for; NULL: no numbers
 *              are wanted.
 * @param count in: room in `ranks`; out: how many ranks are known to be gone.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetFailed(sparsecollComm_t comm, int* ranks,
                                                          int* count);

/**
 * @brief Creates a communicator of the ranks that remain when others are gone. Collective over the
 * ranks that are not excluded, also after a fatal error.
 *
 * The new ranks are in the order of the old ones. `comm` stays as it is, healthy or poisoned, and
 * is to be destroyed; messages of its calls never reach the new communicator. The call in which
 * ranks failed does not count unless every remaining rank has committed it:
 * sparsecollCommGetSequence() of the new communicator returns the number of the last call that is,
 * and its calls are numbered from there. The deadline is that of `comm`. See docs/errors.md, "Going
 * on without ranks that are gone".
 * @param exclude the ranks to exclude, the same on all others; NULL, not over NCCL: those that any
 * of the remaining ranks knows to be gone (sparsecollCommGetFailed()).
 * @param count   number of ranks in `exclude`; 0 for NULL.
 * @param newcomm out.
 * @param config  NULL: the configuration of `comm`, for any number of ranks.
 * @return sparsecollInvalidArgument for a bad argument of this rank; sparsecollInvalidUsage if the
 *         ranks passed different lists or configurations, if another rank passed a bad argument,
 *         over NCCL if a shrink of `comm` has failed before, or after sparsecollCommAbort() during
 *         the call; sparsecollTimeout if a rank did not take part within the deadline (over MPI,
 *         UCX and threads it is named and known to be gone: another call goes on without it);
 *         sparsecollRemoteError if a rank failed during the call. An error creates no communicator
 *         on any rank, except on the others if one fails at the very end (docs/errors.md).
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommShrink(sparsecollComm_t comm, const int* exclude,
                                                       int count, sparsecollComm_t* newcomm,
                                                       const sparsecollConfig_t* config);

/**
 * @brief Writes what this rank's last 256 calls did, and for which ranks they waited, to a file.
 * Local; any thread may call it at any time, also while a call waits or after a fatal error.
 *
 * tools/sparsecoll-blame reads the files of several ranks and prints who was missing where. See
 * docs/errors.md, "Who was missing".
 * @param path the file, in JSON, which is replaced; each rank needs a name of its own. NULL: the
 *             name that SPARSECOLL_FLIGHT_RECORDER gives to this rank's file.
 * @return sparsecollInvalidArgument, also for NULL if SPARSECOLL_FLIGHT_RECORDER is not set and for
 *         a path that is no regular file; sparsecollInvalidUsage in a forked child;
 *         sparsecollSystemError if the file cannot be written.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommDump(sparsecollComm_t comm, const char* path);

/**
 * @brief Measures the network between the ranks, from which sparsecollAlgoAuto predicts costs.
 *        Collective; complete on return also with blocking = 0.
 *
 * Without it the first call by Auto measures, unless it is in a group: calls of a group would
 * delay each other's messages. Call this once before groups, so that Auto chooses for them from
 * measured costs as well, and again when the network has changed. It takes 16 messages of 64 bytes
 * and 6 of 128 KiB for each rank, twice that with allowReordered = 1 where ranks share nodes. The
 * statistics do not count it. With one rank, and over NCCL, where the host cannot time messages, it
 * does nothing, and it is no call that sparsecollCommGetSequence() counts.
 * @return sparsecollInvalidUsage (within a group, or when ranks call different functions), or a
 *         fatal error.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommMeasure(sparsecollComm_t comm);

/**
 * @brief Returns the name and meaning of any result.
 * @return a text in static memory; never NULL.
 */
SPARSECOLL_API const char* sparsecollGetErrorString(sparsecollResult_t result);

/**
 * @brief Returns the message of the last error on `comm`: rank, operation, sequence, expected and
 *        actual value.
 *
 * It is the message of the last error that a function returned in the calling thread; if none did,
 * that of the last error in any thread. With NULL the function returns the message of the calling
 * thread's last failed init. For a handle that is not a communicator's or was destroyed, it returns
 * a text that says so.
 * @return "" if there was no error. The communicator owns the text, which is valid until the
 *         thread's next call on the communicator.
 */
SPARSECOLL_API const char* sparsecollGetLastError(sparsecollComm_t comm);

/**
 * @brief Returns the SPARSECOLL_VERSION of the library.
 * @return sparsecollInvalidArgument for NULL.
 */
SPARSECOLL_API sparsecollResult_t sparsecollGetVersion(int* version);

/** @} */

/**
 * @defgroup verbs The verbs
 *
 * Buffers are host memory or memory of the communicator's device. Every call finds out which:
 * device memory is what CUDA reports as device or managed memory, and all other memory is host
 * memory. All buffers of one call must be of one kind, or the call returns
 * sparsecollInvalidArgument; the kind may differ between ranks. With device buffers the call is
 * ordered after the work that is on `stream`.
 *  - blocking = 1: the host waits for the stream and for messages. The last kernels are queued on
 *    `stream`, so that work that is queued there next sees the result. Structs, counts and
 *    residuals on the host are complete on return.
 *  - blocking = 0: the call returns at once, and its work runs on a stream of the communicator. The
 *    result is ready after sparsecollCommStreamWait(), sparsecollCommSynchronize() or
 *    sparsecollCommWait().
 *
 * The deadline does not cover the work on the device: a stream that never finishes holds up its
 * call and the end of the communicator for as long. A stream that is being captured into a CUDA
 * graph is sparsecollInvalidUsage, except as described at sparsecollCommInitNccl(). A library that
 * was built without CUDA treats all memory as host memory.
 * @{
 */

/**
 * @brief Sums the ranks' top-k entries and returns the top-k of the sum, dense in, dense out.
 *        Collective.
 *
 * With acc_r = send_r + residual_r and L_r = top-k of acc_r: s = sum over ranks of L_r, added in
 * rank order 0 .. P-1; G = top-k of s. recvbuff[i] = s[i] for i in G (divided by P for
 * sparsecollAvg) and 0 elsewhere, with the same bits on every rank. residual_r[i] = acc_r[i] -
 * L_r[i] for i in L_r and G (0 except for the rounding of 16-bit types), otherwise acc_r[i].
 *
 * Every algorithm and setting gives exactly this result, with these exceptions:
 *  - sparsecollAlgoDense delivers the sum of all acc in rank order and leaves the residual 0.
 *  - sparsecollAlgoTopkA2A: with m = ceil(n / P), L_r holds the largest floor(k(j+1)/P) -
 *    floor(kj/P) entries of each shard j = [jm, (j+1)m) of acc_r. The result is all of s, up to P k
 *    entries, and the residual keeps acc_r minus L_r.
 *  - sparsecollAlgoHierarchical adds s by node first, in rank order within each node, then over the
 *    nodes in the order of their lowest ranks. The result is the same if no sum rounds.
 *  - sparsecollSelectReuse: L_r holds every acc_r[i], and G every s[i], whose magnitude reaches an
 *    estimated threshold, about k of them. docs/algorithms/oktopk-reuse.md has the rule.
 *
 * @param sendbuff count values.
 * @param recvbuff count values in the same kind of memory; may be sendbuff.
 * @param count    n.
 * @param k        number of entries to keep; above n it means n.
 * @param datatype a floating-point type.
 * @param op       sparsecollSum or sparsecollAvg.
 * @param residual of the same count, datatype and communicator; NULL = no error feedback.
 * @param comm     the communicator.
 * @param stream   the stream of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage, or a fatal error.
 *
 * Sources: Li & Hoefler, Near-Optimal Sparse Allreduce for Distributed Deep Learning, PPoPP 2022;
 * error feedback as in Stich et al., NeurIPS 2018.
 */
SPARSECOLL_API sparsecollResult_t sparseAllreduce(const void* sendbuff, void* recvbuff,
                                                  size_t count, size_t k,
                                                  sparsecollDataType_t datatype,
                                                  sparsecollRedOp_t op,
                                                  sparsecollResidual_t residual,
                                                  sparsecollComm_t comm, sparsecollStream_t stream);

/**
 * @brief Computes a global top-k by a tree of merges, dense in, dense out. Collective.
 *
 * L_r is that of sparseAllreduce(). At level t, each rank r that is a multiple of 2^(t+1) sets S_r
 * := top-k(S_r + S_{r + 2^t}), starting from S_r = L_r. A rank without a partner keeps its S_r. The
 * result on every rank is rank 0's S. The receiver of a merge adds the entries that it dropped to
 * D_r. Let G be the indices of the result. The conserving rule leaves residual_r[i] = acc_r[i] for
 * i not in G, and (acc_r[i] - L_r[i] if i in L_r, otherwise acc_r[i]) + D_r[i] for i in G. The
 * paper's rule leaves acc_r[i] - L_r[i] for i in L_r and G, otherwise acc_r[i].
 *
 * Parameters are those of sparseAllreduce().
 * @return as sparseAllreduce().
 *
 * Source: Shi et al., A Distributed Synchronous SGD Algorithm with Global Top-k Sparsification for
 * Low Bandwidth Networks, ICDCS 2019.
 */
SPARSECOLL_API sparsecollResult_t gtopkAllreduce(const void* sendbuff, void* recvbuff, size_t count,
                                                 size_t k, sparsecollDataType_t datatype,
                                                 sparsecollRedOp_t op,
                                                 sparsecollResidual_t residual,
                                                 sparsecollComm_t comm, sparsecollStream_t stream);

/**
 * @brief Sums the ranks' top-k entries and gives each rank its region of the sum, dense in,
 *        coordinate form out. Collective.
 *
 * L_r and s are those of sparseAllreduce(). There is no second selection: rank r gets all entries
 * of s in its region [bounds[r], bounds[r + 1]), divided by P for sparsecollAvg. A sum that
 * cancelled is returned as an explicit 0. Everything that is sent is delivered: residual_r = acc_r
 * minus L_r.
 *
 * With sparsecollAlgoSharded the sums are those of its definition, and the region of each rank must
 * lie in the rank's shard, or be empty; other bounds are sparsecollInvalidArgument.
 * sparsecollAlgoAuto takes it only for bounds that agree with the shards.
 *
 * @param sendbuff count values.
 * @param recv     out. The caller sets indexType (the same on all ranks), datatype, arrays and
 *                 capacity; the function writes count and nnz. Indices are those of the whole
 *                 vector. The arrays must not overlap sendbuff.
 * @param count    n.
 * @param k        number of entries that each rank selects; above n it means n.
 * @param datatype the type of sendbuff and recv.
 * @param op       sparsecollSum or sparsecollAvg.
 * @param bounds   P + 1 bounds of the regions, non-decreasing from 0 to count, the same on all
 *                 ranks; read during the call. A region may be empty. NULL: bounds[r] =
 *                 floor(r * count / P).
 * @param residual of the same count, datatype and communicator; NULL = no error feedback.
 * @param comm     the communicator.
 * @param stream   the stream of device buffers; NULL with host buffers.
 * @return sparsecollTruncated when recv is too small on this rank: the operation is done on all
 *         ranks, recv->needed is set, and sparsecollFetch() gets the data;
 *         sparsecollInvalidArgument, sparsecollInvalidUsage, or a fatal error.
 *
 * Source: the first phase of Li & Hoefler, PPoPP 2022 ("split and reduce").
 */
SPARSECOLL_API sparsecollResult_t sparseReduceScatter(
    const void* sendbuff, sparsecollSparse_t* recv, size_t count, size_t k,
    sparsecollDataType_t datatype, sparsecollRedOp_t op, const size_t* bounds,
    sparsecollResidual_t residual, sparsecollComm_t comm, sparsecollStream_t stream);

/**
 * @brief Sends every entry to the rank that owns its index. Collective.
 *
 * Rank r owns the indices [bounds[r], bounds[r + 1]). recv holds the entries that this rank
 * received, ordered by source rank and, for each source, by index. Indices are those of the whole
 * vector. They may repeat, so that recv is not a valid input of the other functions in coordinate
 * form. Nothing is added: values keep their bits, including -0, except that NaNs become canonical.
 *
 * @param send       nnz may differ between ranks and may be 0. Unsorted, repeated or out-of-range
 *                   indices are sparsecollInvalidArgument.
 * @param recv       out. The caller sets indexType and datatype (those of send), arrays and
 *                   capacity; the function writes count and nnz. The arrays must not overlap those
 *                   of send.
 * @param recvcounts out: the number of entries from each rank, P numbers in host memory; NULL: not
 *                   wanted. It is also written with sparsecollTruncated.
 * @param bounds     P + 1 bounds of the regions, non-decreasing from 0 to send->count, the same on
 *                   all ranks; read during the call. A region may be empty. NULL: bounds[r] =
 *                   floor(r * count / P).
 * @param comm       the communicator.
 * @param stream     the stream of device buffers; NULL with host buffers.
 * @return sparsecollTruncated when recv is too small on this rank: the operation is done on all
 *         ranks, recv->needed is set, and sparsecollFetch() gets the data;
 *         sparsecollInvalidArgument, sparsecollInvalidUsage, or a fatal error.
 *
 * Source: the first phase of Z. Li, MPhil thesis, HKUST 2024, as a collective of its own.
 */
SPARSECOLL_API sparsecollResult_t sparseAlltoall(const sparsecollSparse_t* send,
                                                 sparsecollSparse_t* recv, size_t* recvcounts,
                                                 const size_t* bounds, sparsecollComm_t comm,
                                                 sparsecollStream_t stream);

/** @} */

/**
 * @defgroup groups Groups: tensor fusion without copying tensors together
 * @{
 */

/**
 * @brief Opens a group. The verbs on `comm` up to sparsecollGroupEnd() share messages, so that all
 *        of them together pay for the latency once. Local.
 *
 * Inside a group a verb returns sparsecollSuccess and does nothing yet. Its arguments, structs and
 * buffers belong to the library until the group has ended. Local functions are not part of the
 * group and run at once. pushSumStep() and functions that make or destroy objects are
 * sparsecollInvalidUsage inside a group. Groups may be nested; only the outermost one counts. All
 * ranks make the same calls in the same order.
 * @return sparsecollInvalidArgument, or the first fatal error of a poisoned communicator.
 */
SPARSECOLL_API sparsecollResult_t sparsecollGroupStart(sparsecollComm_t comm);

/**
 * @brief Ends the group and makes its calls, as one collective call. The results are those of the
 *        same calls one by one.
 *
 * An error voids the whole group: no output and no residual is changed. An empty group does
 * nothing.
 * @return sparsecollInvalidUsage when no group is open, when two calls use the same residual, or
 *         when the output of one call is an input or output of another. sparsecollTruncated when
 *         the output of a call was too small: all calls are done, each such recv has `needed` set,
 *         and sparsecollFetch() with the same struct gets its data. Otherwise the errors of the
 *         verbs; the message names the call.
 */
SPARSECOLL_API sparsecollResult_t sparsecollGroupEnd(sparsecollComm_t comm);

/** @} */

/**
 * @defgroup push_sum Push-sum
 * @{
 */

/**
 * @brief Makes one step of push-sum (Stochastic Gradient Push). Every rank calls it, but a rank
 *        exchanges messages only with its neighbours.
 *
 * x is the numerator. The state holds the weight w (1 at first), the step counter t, the graph and
 * the messages in flight. The rank sends p (x, w), rounded to the datatype, to each out-neighbour
 * of step t. It keeps x minus what it sent, adds what it received, in the order of steps and then
 * of ranks, and writes estimate = x / w. The estimates of all ranks approach the mean of their x.
 * An optimizer changes x between two steps and computes its gradients at the estimate.
 *
 * With maxDelay = 0 the step waits for the messages of step t. With maxDelay = tau > 0 (Overlap
 * SGP) it adds the messages that have arrived, and waits only for messages of steps up to t - tau.
 * With -1 it never waits. No message is lost or counted twice: the sums of x and of w over all
 * ranks and all messages in flight never change except by rounding. With maxDelay = 0 the result
 * has the same bits in every run; otherwise it depends on when messages arrive. Sums are formed in
 * the accumulation type and rounded once. Infinite entries become NaN, because x minus a share of x
 * has no value then.
 *
 * With k > 0 (compressed gossip) a message holds the k largest entries of what changed since the
 * last message on the same edge. It moves the share `mixing` p of what the receiver knows of x, and
 * of w.
 *
 * @param x        count values, in and out.
 * @param estimate out: count values in the same kind of memory, not overlapping x; NULL = not
 *                 wanted.
 * @param count    the count of the state.
 * @param datatype the datatype of the state.
 * @param state    made with sparsecollPushSumCreate().
 * @param comm     the communicator of the state.
 * @param stream   the stream of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument for arguments that do not fit the state, and for an invalid
 *         custom graph: nothing was done, peers are not notified, and they wait for the corrected
 *         call. (With blocking = 0 an invalid custom graph is found only when the step is made,
 *         when peers may already rely on it: sparsecollInvalidUsage, and the communicator is
 *         poisoned.) sparsecollInvalidUsage within a group. Or a fatal error, which leaves x as it
 *         was: sparsecollTimeout when no message came from an in-neighbour, sparsecollRemoteError
 *         also when an in-neighbour called another function.
 *
 * Sources: Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push for Distributed Deep Learning,
 * ICML 2019; Koloskova, Stich, Jaggi, Decentralized Stochastic Optimization and Gossip Algorithms
 * with Compressed Communication, ICML 2019.
 */
SPARSECOLL_API sparsecollResult_t pushSumStep(void* x, void* estimate, size_t count,
                                              sparsecollDataType_t datatype,
                                              sparsecollPushSum_t state, sparsecollComm_t comm,
                                              sparsecollStream_t stream);

/**
 * @brief Makes a push-sum state for one tensor, at step 0 with weight 1. Collective; complete on
 *        return also with blocking = 0.
 * @param state    out.
 * @param count    n.
 * @param datatype a floating-point type.
 * @param config   NULL = defaults: exponential graph, maxDelay 0, all values sent.
 * @param comm     the communicator that uses and owns the state.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage (ranks disagree, or within a group), or
 *         a fatal error.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumCreate(sparsecollPushSum_t* state, size_t count,
                                                          sparsecollDataType_t datatype,
                                                          const sparsecollPushSumConfig_t* config,
                                                          sparsecollComm_t comm);

/**
 * @brief Frees a push-sum state. Local. Messages in flight to this rank are lost: drain first if
 *        the sum matters.
 * @return sparsecollInvalidArgument for a handle that is not a state's or was destroyed before,
 *         also with its communicator.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumDestroy(sparsecollPushSum_t state);

/**
 * @brief Returns this rank's weight w. Local; waits for queued calls.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumWeight(sparsecollPushSum_t state,
                                                          double* weight);

/**
 * @brief Adds all messages in flight to x and w. Collective; all ranks must have made the same
 *        number of steps.
 *
 * Afterwards the sums over the ranks alone are what they were at first.
 * @param x        count values, in and out.
 * @param estimate out: x / w, count values that do not overlap x; NULL = not wanted.
 * @param stream   the stream of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument. sparsecollInvalidUsage when ranks disagree on the state,
 *         within a group, and over NCCL for compressed gossip with maxDelay > 0 whose steps were
 *         captured, because the graph owns the waiting messages. Or a fatal error:
 *         sparsecollRemoteError also when a peer made another number of steps, because it then
 *         makes another call.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumDrain(sparsecollPushSum_t state, void* x,
                                                         void* estimate, sparsecollStream_t stream);

/**
 * @brief Moves a push-sum state to `newcomm`, which sparsecollCommShrink() made of the state's
 *        communicator, directly or in several shrinks. Collective over `newcomm`; complete on
 * return also with blocking = 0.
 *
 * Call it on every remaining rank, for all states in the same order, before sparsecollCommDestroy()
 * of the old communicator. The handle stays. The weight w is that after the last step that this
 * rank has made, as x is: the estimate x / w stays, bit for bit.
 *
 * The shares of the ranks that are gone are lost, and so are messages in flight. Of the step that
 * failed, a share may count at its receiver and still be at its sender. All these are shares of x
 * and w alike, so that the estimates stay weighted means of the ranks' values. From here on the
 * sums of x and of w over the remaining ranks never change except by rounding, and the estimates
 * approach their quotient. The next step has the largest step number of these ranks and the graph
 * of the new ranks. The copies of compressed gossip begin again at zero.
 * @param state   a state of the communicator from which `newcomm` was made.
 * @param newcomm the new communicator.
 * @return sparsecollInvalidArgument, also for another communicator; sparsecollInvalidUsage (ranks
 *         move different states, or within a group; over NCCL also, on all ranks, if the
 *         communicator has failed and the last step or drain had not ended on a rank before, or
 *         was captured into a graph: x is lost), or a fatal error. After an error the state is
 *         where it was.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumMove(sparsecollPushSum_t state,
                                                        sparsecollComm_t newcomm);

/**
 * @brief Writes weight, step counter and the copies of compressed gossip to a file, but not x.
 *        Local.
 *
 * The file is written like that of sparsecollResidualSave(). With maxDelay = 0 the function may be
 * called after any step, otherwise only after a drain, a load or the creation.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage when messages may be in flight,
 *         sparsecollSystemError when the file cannot be written.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumSave(sparsecollPushSum_t state,
                                                        const char* path);

/**
 * @brief Writes to `buffer` the same bytes that sparsecollPushSumSave() writes to a file. Local.
 *
 * `buffer` and `bytes` are those of sparsecollResidualSaveTo().
 * @return as sparsecollPushSumSave(), and sparsecollInvalidArgument as sparsecollResidualSaveTo().
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumSaveTo(sparsecollPushSum_t state, void* buffer,
                                                          size_t* bytes);

/**
 * @brief Restores the state that this rank saved. Local. With the files of one step and the same x
 *        on all ranks, later results are the same bit for bit.
 *
 * The new state may differ from the saved one in maxDelay, in mixing, and in k if both k are 0 or
 * neither is.
 * @return sparsecollInvalidArgument for a file that is damaged, of another version, or of another
 *         rank, P, count, datatype, graph, number of peers or kind of gossip, and at once for what
 *         is not a regular file.
 *         sparsecollInvalidUsage when messages may be in flight, or steps of the state were
 *         captured into a CUDA graph. sparsecollSystemError when the file cannot be read. After an
 *         error the state is unchanged.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumLoad(sparsecollPushSum_t state,
                                                        const char* path);

/**
 * @brief Restores the state from memory: the bytes of sparsecollPushSumSaveTo(), or of a file of
 *        sparsecollPushSumSave(). Local.
 * @return as sparsecollPushSumLoad().
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumLoadFrom(sparsecollPushSum_t state,
                                                            const void* buffer, size_t bytes);

/** @} */

/**
 * @defgroup residuals Error feedback
 * @{
 */

/**
 * @brief Makes a residual of zeros for one tensor. Local; also within a group.
 *
 * Its values are of the accumulation type: float32 for 16-bit tensors. The first call that uses the
 * residual places it where that call's buffers are, on the host or a device. A later call with
 * buffers elsewhere, or with another count or datatype, returns sparsecollInvalidArgument.
 *
 * On a communicator with sparsecollAlgoSharded, or whose Auto takes it for such a tensor, the
 * residual holds only the values of this rank's shard, or none if the rank owns no shard. Calls of
 * gtopkAllreduce(), the `v` verbs and sparsecollTopk() with it are sparsecollInvalidArgument.
 * @param residual out.
 * @param count    number of values of the tensor; the residual has two buffers of the values that
 *                 it holds, and a third one over NCCL, or if consecutive calls use it.
 * @param datatype the type of the tensor, a floating-point type.
 * @param comm     the communicator that uses and owns the residual.
 * @return sparsecollInvalidArgument, or sparsecollSystemError if an allocation fails.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualCreate(sparsecollResidual_t* residual,
                                                           size_t count,
                                                           sparsecollDataType_t datatype,
                                                           sparsecollComm_t comm);

/**
 * @brief Moves a residual to `newcomm`, which sparsecollCommShrink() made of the residual's
 *        communicator, directly or in several shrinks. Local, except for Sharded.
 *
 * Call it on every remaining rank before sparsecollCommDestroy() of the old communicator, which may
 * be poisoned. The handle stays. The values are those after the last call that every remaining rank
 * has committed (sparsecollCommGetSequence() of `newcomm`): a later call, and a sparsecollTopk()
 * after it, are undone. What sparsecollResidualWrite() or Load() has set since stays.
 *
 * A residual of sparsecollAlgoSharded, of the old or the new communicator: collective over
 * `newcomm`, for all residuals in the same order; complete on return also with blocking = 0. Each
 * value goes to the rank that owns it among the new ranks of its node. The shards of ranks that are
 * gone are lost: their values become 0. Where the new residual is not Sharded's, each rank keeps
 * what it held.
 * @return sparsecollInvalidArgument, also for another communicator; sparsecollInvalidUsage if more
 *         calls that have changed the residual would have to be undone than the last one, over NCCL
 *         than the last two (docs/errors.md, "Over NCCL"). For Sharded also a fatal error, after
 *         which the residual is where it was.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualMove(sparsecollResidual_t residual,
                                                         sparsecollComm_t newcomm);

/** @brief Frees a residual. Local. @return sparsecollInvalidArgument, sparsecollInvalidUsage. */
SPARSECOLL_API sparsecollResult_t sparsecollResidualDestroy(sparsecollResidual_t residual);

/**
 * @brief Copies the values of the residual to `dst`. Local. NaNs become canonical. A residual of
 *        sparsecollAlgoSharded gives 0 outside its shard.
 * @param dst out: count values of the accumulation type in host memory.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualRead(sparsecollResidual_t residual, void* dst);

/**
 * @brief Replaces the values of the residual. Local. A residual of sparsecollAlgoSharded takes
 *        those of its shard only.
 * @param src count values of the accumulation type in host memory.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualWrite(sparsecollResidual_t residual,
                                                          const void* src);

/**
 * @brief Multiplies the residual by `factor`, which is first rounded to the accumulation type.
 *        Local. With 0 all values become 0, including NaN and infinity.
 * @return sparsecollInvalidArgument for a factor that is not finite in that type.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualScale(sparsecollResidual_t residual,
                                                          double factor);

/**
 * @brief Returns the address of the residual's values. Local.
 *
 * The values are in host memory until the first call with device buffers. The address is valid
 * until the next call that uses the residual.
 * @param pointer out: count values of the accumulation type; the residual owns them.
 * @return sparsecollInvalidArgument, also for a residual of sparsecollAlgoSharded.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualPointer(sparsecollResidual_t residual,
                                                            void** pointer);

/**
 * @brief Writes the residual to a file, with what the communicator has learnt from its calls
 *        (thresholds, regions). Local.
 *
 * The file also holds rank, P and the number of the residual's last call. NaNs become canonical.
 * At every moment the path holds either the old file or the whole new one: the function writes a
 * temporary file beside it (the path with ".sparsecoll-part" behind it; after a kill the next save
 * removes it), calls fsync and renames it. The mode is 0600. The file has a version and a checksum.
 * @param path this rank's own file, which may not exist yet.
 * @return sparsecollSystemError when the file cannot be written, or when another process or thread
 *         is saving to this path. sparsecollInvalidArgument, also for a path that is not a regular
 *         file: a symbolic link, a FIFO, a device.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualSave(sparsecollResidual_t residual,
                                                         const char* path);

/**
 * @brief Restores what sparsecollResidualSave() wrote. Local, but all ranks must call it, with
 *        files of one step.
 *
 * Later results are then bit-identical to those of a run without the interruption. If only some
 * ranks load, every call whose result depends on the restored thresholds or regions returns
 * sparsecollInvalidUsage until all ranks have loaded.
 * @param path a file of the same count, datatype, rank and P, and with sparsecollAlgoSharded of the
 *             same shard.
 * @return sparsecollInvalidArgument for any other file, for a damaged one, and at once for what is
 *         not a regular file (a FIFO, a device). sparsecollSystemError when it cannot be read.
 *         After an error nothing is changed.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualLoad(sparsecollResidual_t residual,
                                                         const char* path);

/**
 * @brief Writes to `buffer` the same bytes that sparsecollResidualSave() writes to a file.
 *        Local.
 * @param buffer out: memory of the host, with any alignment; NULL: only the size is asked for.
 * @param bytes  in: the capacity of `buffer`; ignored if `buffer` is NULL. Out: the size of the
 *               saved state, also when the capacity is too small. It is the same until a call uses
 *               the residual or another one of the same shape.
 * @return sparsecollInvalidArgument, also when the capacity is too small: then `buffer` is
 *         unchanged. sparsecollSystemError when memory is short.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualSaveTo(sparsecollResidual_t residual,
                                                           void* buffer, size_t* bytes);

/**
 * @brief Restores what sparsecollResidualSaveTo() wrote to memory, or sparsecollResidualSave() to a
 *        file. Local, but all ranks must call it, with states of one step.
 * @param buffer memory of the host, with any alignment. The library does not keep it.
 * @param bytes  the exact size of the state.
 * @return as sparsecollResidualLoad().
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualLoadFrom(sparsecollResidual_t residual,
                                                             const void* buffer, size_t bytes);

/** @} */

/**
 * @defgroup coordinate_form Coordinate form
 *
 * The steps of the dense verbs, as functions of their own. For k <= n a dense verb equals
 * sparsecollTopk(), its `v` verb and sparsecollScatter(), bit for bit.
 * @{
 */

/**
 * @brief Selects out = top-k of acc = dense + residual; the residual keeps acc minus out. Local.
 *
 * @param dense    count values.
 * @param k        number of entries to keep; above count it means count.
 * @param residual of the same count and datatype; NULL = none.
 * @param out      out. The caller sets indexType, datatype, arrays and capacity; a capacity below
 *                 min(k, count) is sparsecollInvalidArgument. The function writes count and nnz.
 * @param comm     the communicator.
 * @param stream   the stream of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage, sparsecollSystemError.
 */
SPARSECOLL_API sparsecollResult_t sparsecollTopk(const void* dense, size_t count, size_t k,
                                                 sparsecollDataType_t datatype,
                                                 sparsecollResidual_t residual,
                                                 sparsecollSparse_t* out, sparsecollComm_t comm,
                                                 sparsecollStream_t stream);

/**
 * @brief Sums sparse vectors in coordinate form and returns the top-k of the sum. Collective.
 *
 * s = sum over ranks of send_r in rank order; recv = top-k of s. For k = SPARSECOLL_ALL recv = s,
 * with explicit zeros and cancelled entries. The entries of send_r outside the result are added to
 * the residual; with NULL they are dropped. nnz may differ between ranks and may be 0.
 * sparsecollAlgoDense and sparsecollAlgoTopkA2A are sparsecollInvalidArgument here.
 *
 * @param send     unsorted, repeated or out-of-range indices are sparsecollInvalidArgument.
 * @param recv     out. The caller sets indexType, datatype and blockSize (those of send), arrays
 *                 and capacity; the function writes count and nnz. The arrays must not overlap
 *                 those of send.
 * @param k        number of entries to keep, above count it means count; or SPARSECOLL_ALL.
 * @param op       sparsecollSum or sparsecollAvg.
 * @param residual of count * blockSize values and send's datatype; NULL = none.
 * @param comm     the communicator.
 * @param stream   the stream of device buffers; NULL with host buffers.
 * @return sparsecollTruncated when recv is too small on this rank: the operation is done on all
 *         ranks, recv->needed is set, and sparsecollFetch() gets the data;
 *         sparsecollInvalidArgument, sparsecollInvalidUsage, or a fatal error.
 */
SPARSECOLL_API sparsecollResult_t sparseAllreducev(
    const sparsecollSparse_t* send, sparsecollSparse_t* recv, size_t k, sparsecollRedOp_t op,
    sparsecollResidual_t residual, sparsecollComm_t comm, sparsecollStream_t stream);

/**
 * @brief Computes a global top-k by a tree of merges, in coordinate form. Collective.
 *
 * The operation is that of gtopkAllreduce() with L_r = top-k of send_r. Entries of send_r outside
 * L_r are added to the residual too. k = SPARSECOLL_ALL returns the exact sum, computed through the
 * tree. Parameters are those of sparseAllreducev().
 * @return as sparseAllreducev().
 */
SPARSECOLL_API sparsecollResult_t gtopkAllreducev(const sparsecollSparse_t* send,
                                                  sparsecollSparse_t* recv, size_t k,
                                                  sparsecollRedOp_t op,
                                                  sparsecollResidual_t residual,
                                                  sparsecollComm_t comm, sparsecollStream_t stream);

/**
 * @brief Fills `dense` (in->count * blockSize values) with zeros, then writes the entries of `in`.
 *        Local.
 *
 * NaNs become canonical and -0 becomes +0.
 * @param stream the stream of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage.
 */
SPARSECOLL_API sparsecollResult_t sparsecollScatter(const sparsecollSparse_t* in, void* dense,
                                                    sparsecollComm_t comm,
                                                    sparsecollStream_t stream);

/**
 * @brief Fills `dense`, a region of the vector, with zeros, then writes the entries of `in` to it:
 *        index `offset` goes to dense[0]. Local.
 *
 * A rank can use it to write its region of a sparseReduceScatter() into an array of its own.
 * @param in     all indices are at least `offset` and below offset + length.
 * @param dense  length values, or length blocks.
 * @param offset the first index of the region.
 * @param length number of indices of the region, which ends at in->count at the latest.
 * @param stream the stream of device buffers; NULL with host buffers.
 * @return as sparsecollScatter(). sparsecollInvalidArgument also for an entry outside the region,
 *         whose position the message has; nothing is written then.
 */
SPARSECOLL_API sparsecollResult_t sparsecollScatterAt(const sparsecollSparse_t* in, void* dense,
                                                      size_t offset, size_t length,
                                                      sparsecollComm_t comm,
                                                      sparsecollStream_t stream);

/**
 * @brief Gets the result of the call that just returned sparsecollTruncated. Local.
 *
 * The communicator keeps the result until its next verb. It can be fetched several times.
 * @param recv       out: a larger vector of the same indexType, datatype and blockSize.
 * @param recvcounts after sparseAlltoall(): out, the number of entries from each rank, P numbers,
 *                   or NULL; also written with sparsecollTruncated. After other verbs NULL.
 * @param comm       the communicator.
 * @param stream     the stream of device buffers; NULL with host buffers.
 * @return sparsecollTruncated when recv is still too small (needed is set), sparsecollInvalidUsage
 *         when the communicator keeps no result, sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollFetch(sparsecollSparse_t* recv, size_t* recvcounts,
                                                  sparsecollComm_t comm, sparsecollStream_t stream);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* SPARSECOLL_SPARSECOLL_H_ */
