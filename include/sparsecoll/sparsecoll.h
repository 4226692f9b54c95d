/* SPDX-FileCopyrightText: 2026 The sparsecoll authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SPARSECOLL_SPARSECOLL_H_
#define SPARSECOLL_SPARSECOLL_H_

/**
 * @file
 * @brief Sparse collectives for networks that are too slow for dense ones: the C API.
 *
 * C99 and C++; needs no MPI, CUDA or NCCL header. Communicators over MPI are made by the function
 * in sparsecoll_mpi.h; those whose ranks are threads of one process by sparsecollCommInitAll().
 *
 * Words used throughout
 *  - P ranks; n = `count`, the dense length; k entries kept; density rho = k / n.
 *  - Accumulation type: float32 for float16 and bfloat16, else the type of the values.
 *  - acc = gradient + residual in the accumulation type, one rounding.
 *  - top-k of x: the k entries of largest magnitude. Ties go to the lowest index. Zeros are never
 *    selected, so fewer than k come back when x has fewer non-zeros. NaN ranks above Inf, Inf above
 *    every finite value. k > n behaves as k = n. A value is selected by its magnitude in the
 *    accumulation type: one that rounds to zero in a 16-bit type is an explicit zero.
 *  - A shipped non-finite entry leaves the literal 0 in the residual; an unshipped one stays. Every
 *    NaN that leaves the library is the canonical quiet NaN.
 *  - Sums start from the first present value (no 0 is added in front); -0 comes out as +0.
 *  - 16-bit types: a rank's selected values are acc rounded once to the datatype (nearest even;
 *    finite overflow saturates), and the residual, float32, keeps acc minus what was shipped. Sums
 *    are formed in float32, divided for sparsecollAvg, and rounded once on output.
 *
 * Calls, memory and threads
 *  - Every function that says "collective" is called by all ranks of the communicator, in the same
 *    order, with the same count, k, datatype, index type and op. When ranks disagree, or one rank's
 *    arguments are bad, the rank with bad arguments gets sparsecollInvalidArgument and all others
 *    sparsecollInvalidUsage naming rank, argument and both values; outputs and residuals are
 *    untouched and the communicator goes on.
 *  - A fatal error (sparsecollRemoteError, sparsecollTimeout, sparsecollSystemError,
 *    sparsecollInternalError, sparsecollUnhandledCudaError) poisons the communicator: every later
 *    call that needs the peers returns that first error at once; residuals can still be read and
 *    saved. After it some ranks may have committed the call and others not;
 *    sparsecollCommGetSequence() and the residuals say which. recvbuff is undefined then.
 *  - Buffers are host memory or a CUDA device's (see The verbs). In place (sendbuff == recvbuff) is
 *    allowed; partial overlap is sparsecollInvalidArgument.
 *  - With blocking = 1 a call is complete when it returns, and buffers belong to the caller again.
 *    With blocking = 0 the verbs, sparsecollPushSumDrain(), sparsecollTopk() and
 *    sparsecollScatter() return at once: sparsecollSuccess means queued. Queued calls run in call
 *    order on the communicator's own thread; buffers, structs and counts belong to the library
 *    until sparsecollCommSynchronize() or sparsecollCommWait() returns, and those tell the errors.
 *    All other functions but queries and sparsecollCommAbort() wait for what is queued first. Over
 *    MPI this needs MPI_THREAD_MULTIPLE.
 *  - One communicator is used by one thread at a time (a second one gets sparsecollInvalidUsage);
 *    different communicators may be used by different threads at once (over MPI this needs
 *    MPI_THREAD_MULTIPLE).
 *  - count = 0 and k = 0 are legal collectives (k = 0: zero result, residual += gradient).
 *  - No call outlives its deadline, `timeoutMs` of the configuration.
 */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this header: major * 10000 + minor * 100 + patch. */
#define SPARSECOLL_VERSION 100

#if defined(__GNUC__) || defined(__clang__)
/** In front of everything that the shared library exports. */
#define SPARSECOLL_API __attribute__((visibility("default")))
#else
#define SPARSECOLL_API
#endif

struct CUstream_st;
struct ncclComm;

/** A communicator: P ranks, each a process (MPI) or a thread of this process. */
typedef struct sparsecollComm* sparsecollComm_t;
/** The error-feedback state of one tensor on one rank. */
typedef struct sparsecollResidual* sparsecollResidual_t;
/** One rank's end of push-sum over one tensor. */
typedef struct sparsecollPushSum* sparsecollPushSum_t;
/** A cudaStream_t. NULL with host buffers; with device buffers NULL is the legacy default stream.
 */
typedef struct CUstream_st* sparsecollStream_t;

/** What every function returns. The values 0 to 7 are NCCL's. */
typedef enum {
  sparsecollSuccess = 0,
  sparsecollUnhandledCudaError = 1, /**< a CUDA call failed */
  sparsecollSystemError = 2,        /**< memory, a file, or the layer below (MPI) failed */
  sparsecollInternalError = 3,      /**< a bug in this library */
  sparsecollInvalidArgument = 4,    /**< nothing happened; the communicator stays usable */
  sparsecollInvalidUsage = 5,       /**< ranks disagree, or a call that this state forbids */
  sparsecollRemoteError = 6,        /**< a peer failed, or sent a damaged message */
  sparsecollInProgress = 7,         /**< queued work is not done yet */
  sparsecollTimeout = 8,            /**< a deadline passed; the message names the missing ranks */
  sparsecollTruncated = 9,          /**< an output was too small: `needed` says how much; fetch the
                                         data with sparsecollFetch() */
  sparsecollResultMaxEnum = 0x7fffffff
} sparsecollResult_t;

/**
 * Type of the values; NCCL's numbers. Integers are sent by sparseAlltoall() and added up, wrapping,
 * by sparseAllreducev() and gtopkAllreducev() with SPARSECOLL_ALL and sparsecollSum; elsewhere they
 * are sparsecollInvalidArgument.
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

/** Reduction; NCCL's numbers. */
typedef enum {
  sparsecollSum = 0,
  sparsecollAvg = 4, /**< the sum divided by P */
  sparsecollRedOpMaxEnum = 0x7fffffff
} sparsecollRedOp_t;

/** Type of the indices of a sparse vector. */
typedef enum {
  sparsecollIndex32 = 0, /**< uint32_t */
  sparsecollIndex64 = 1, /**< uint64_t */
  sparsecollIndexTypeMaxEnum = 0x7fffffff
} sparsecollIndexType_t;

/** How sparseAllreduce and sparseAllreducev work; see docs/algorithms.md. */
typedef enum {
  sparsecollAlgoAuto = 0,      /**< the cheapest of the exact ones by a model of their cost */
  sparsecollAlgoAllgather = 1, /**< classic Top-k: Bruck allgather of the selections, then top-k */
  sparsecollAlgoOktopk = 2,    /**< Ok-Topk (Li & Hoefler, PPoPP 2022) with exact selection */
  /** top-k of every shard, all-to-all, allgather (Peng et al., ICPP 2024; Z. Li, HKUST 2024):
   *  another definition, for high densities */
  sparsecollAlgoTopkA2A = 3,
  /** ranks of one node add their selections, one rank of each node runs Ok-Topk over nodes: sums
   *  round in another order */
  sparsecollAlgoHierarchical = 4,
  sparsecollAlgoDense = 5, /**< no selection: dense allreduce of acc, residual left 0 (but what adds
                                up to zero where sparsecollAlgoAuto took it, for k = n) */
  sparsecollAlgoMaxEnum = 0x7fffffff
} sparsecollAlgo_t;

/** How entries are chosen. */
typedef enum {
  sparsecollSelectExact = 0, /**< the k largest, exactly */
  sparsecollSelectReuse = 1, /**< all above estimated thresholds, about k: Ok-Topk's own scheme;
                                with sparsecollAlgoAuto or sparsecollAlgoOktopk */
  sparsecollSelectMaxEnum = 0x7fffffff
} sparsecollSelect_t;

/** What gtopkAllreduce leaves in the residual. */
typedef enum {
  sparsecollResidualConserving = 0, /**< sum of residuals + delivered = sum of acc, always */
  sparsecollResidualPaper = 1,      /**< as published (Shi et al., ICDCS 2019); loses mass */
  sparsecollResidualRuleMaxEnum = 0x7fffffff
} sparsecollResidualRule_t;

/** How values travel. */
typedef enum {
  sparsecollWireNative = 0, /**< as they are */
  sparsecollWireBf16 = 1,   /**< rounded to bfloat16, in 2 bytes, ties to even; what is finite stays
                               finite. Whoever rounds, uses the rounded value, too, and adds what that
                               took off to its own residual: the rank that selected the entry; where
                               sums travel, the rank that added them up and its sum is delivered. With
                               residual NULL it is lost. Of sparseAllreduce (but
                               sparsecollAlgoDense), gtopkAllreduce, their `v` forms and
                               sparseReduceScatter; integers, sparseAlltoall and pushSumStep are as
                               with sparsecollWireNative (docs/semantics.md) */
  sparsecollWireMaxEnum = 0x7fffffff
} sparsecollWire_t;

/** Who sends to whom in a step of pushSumStep(); distances are modulo P. With d out-neighbours each
 *  of them gets the part 1 / (d + 1) of (x, w), and as much stays. */
typedef enum {
  sparsecollGraphExponential = 0,      /**< one, at distance 2^(t mod ceil(log2 P)) */
  sparsecollGraphNPeerExponential = 1, /**< `peers` p: at distances j (p + 1)^i, j = 1 .. p, where
                                            i = t mod (the number of powers of p + 1 below P);
                                            self-loops and duplicates are dropped */
  sparsecollGraphRing = 2,             /**< one, at distance 1 */
  sparsecollGraphBipartiteExponential = 3, /**< one, between even and odd ranks: at distances 1, -1,
                                                3, -3, 5, -5, 9, ... in turn */
  sparsecollGraphCustom = 4,               /**< what `outNeighbours` says */
  sparsecollGraphKindMaxEnum = 0x7fffffff
} sparsecollGraphKind_t;

/** As `k` of a `v` verb: the exact sum of all entries, explicit zeros and cancellations kept. */
#define SPARSECOLL_ALL ((size_t)-1)
/** As `color` of sparsecollCommSplit(): not part of any new communicator. */
#define SPARSECOLL_SPLIT_NOCOLOR (-1)
/** As `device` of a configuration: host memory only. */
#define SPARSECOLL_DEVICE_HOST (-1)

/** As `which` of sparsecollCommGetStats(). */
enum {
  sparsecollStatsLast = 0, /**< the last collective call */
  sparsecollStatsTotal = 1 /**< all collective calls so far */
};

/** A sparse vector in coordinate form. Start from SPARSECOLL_SPARSE_INITIALIZER. */
typedef struct {
  size_t size;         /**< sizeof, set by the initializer */
  size_t count;        /**< dense length that the indices point into */
  size_t nnz;          /**< entries in use */
  size_t capacity;     /**< entries that the two arrays can hold */
  size_t needed;       /**< out, on sparsecollTruncated: the capacity that would do */
  void* indices;       /**< indexType[capacity], strictly increasing, each < count */
  void* values;        /**< datatype[capacity] */
  int indexType;       /**< sparsecollIndexType_t */
  int datatype;        /**< sparsecollDataType_t */
  size_t* nnzOnDevice; /**< NULL: nnz is the host's. Else, beside arrays on a device, on the same
                            one: the number of entries, in stream order; nnz is an upper bound */
  void* reserved[4];   /**< zero */
} sparsecollSparse_t;

/** An empty sparse vector of float32 with 32-bit indices. */
#define SPARSECOLL_SPARSE_INITIALIZER                                                          \
  {                                                                                            \
    sizeof(sparsecollSparse_t), 0, 0, 0, 0, NULL, NULL, 0, 7, NULL, { NULL, NULL, NULL, NULL } \
  }

/**
 * How a communicator works. Start from SPARSECOLL_CONFIG_INITIALIZER; a struct that does not is
 * sparsecollInvalidArgument. Environment variables override it: SPARSECOLL_ALGO, SPARSECOLL_SELECT,
 * SPARSECOLL_WIRE, SPARSECOLL_TIMEOUT_MS (docs/environment.md). All ranks must agree on everything
 * but `device`.
 */
typedef struct {
  size_t size;      /**< sizeof, set by the initializer */
  unsigned magic;   /**< set by the initializer */
  unsigned version; /**< set by the initializer */
  int blocking;     /**< 1: calls return when they are done; 0: they are queued */
  int device;       /**< of whose memory buffers may be, beside the host's: a number of CUDA's;
                         INT_MIN = at init the current one where CUDA is in use, else that of
                         the first device buffer; SPARSECOLL_DEVICE_HOST = none */
  int timeoutMs;    /**< deadline of a call in milliseconds; 0 = none */
  int algorithm;    /**< sparsecollAlgo_t of sparseAllreduce and sparseAllreducev */
  int selection;    /**< sparsecollSelect_t */
  int residualRule; /**< sparsecollResidualRule_t of gtopkAllreduce and gtopkAllreducev */
  int wire;         /**< sparsecollWire_t */
  int repartitionInterval; /**< Oktopk: calls of one shape between two new cuts, at least 1 */
  int thresholdInterval; /**< calls between two new thresholds where they are reused, at least 1 */
  int allowReordered;    /**< 0; 1 lets Auto take sparsecollAlgoHierarchical, whose sums round in
                              another order */
} sparsecollConfig_t;

/** The defaults. */
#define SPARSECOLL_CONFIG_INITIALIZER                                                            \
  {                                                                                              \
    sizeof(sparsecollConfig_t), 0x53504346u, SPARSECOLL_VERSION, 1, INT_MIN, 600000, 0, 0, 0, 0, \
        64, 32, 0                                                                                \
  }

/** What one rank's verbs did. Start from SPARSECOLL_STATS_INITIALIZER. Grows at the end. */
typedef struct {
  size_t size;            /**< sizeof, set by the initializer */
  unsigned magic;         /**< set by the initializer */
  unsigned version;       /**< set by the initializer */
  int algorithm;          /**< the one that ran (last call) */
  size_t bytesSent;       /**< by this rank, on the wire: headers and counters included */
  size_t bytesReceived;   /**< likewise, from its peers */
  size_t messagesSent;    /**< by this rank */
  size_t selected;        /**< entries that this rank selected or passed in */
  size_t result;          /**< entries in the result */
  double selectSeconds;   /**< accumulate, select, update the residual */
  double packSeconds;     /**< to and from the wire format */
  double exchangeSeconds; /**< waiting for messages */
  double reduceSeconds;   /**< merging, selecting again, writing the result */
  size_t abandonedBytes;  /**< kept for ever because an abandoned message may still touch them */
} sparsecollStats_t;

/** Zeros; the struct is an output. */
#define SPARSECOLL_STATS_INITIALIZER                                                             \
  {                                                                                              \
    sizeof(sparsecollStats_t), 0x53505354u, SPARSECOLL_VERSION, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, \
        0.0, 0                                                                                   \
  }

/** How push-sum works. Start from SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER. All ranks must agree on
 *  everything but the function and its argument, which must describe the same graph everywhere. */
typedef struct {
  size_t size;      /**< sizeof, set by the initializer */
  unsigned magic;   /**< set by the initializer */
  unsigned version; /**< set by the initializer */
  int graph;        /**< sparsecollGraphKind_t */
  int peers;        /**< of sparsecollGraphNPeerExponential, at least 1; 1 with other graphs */
  int maxDelay;     /**< tau: 0 = every step waits for its messages; tau > 0 = only for those tau
                         steps old or older; -1 = never */
  size_t k;         /**< 0 = everything is sent; else compressed gossip of k entries a message */
  double mixing;    /**< gamma of compressed gossip, 0 < mixing <= 1: the part of p that moves */
  /** sparsecollGraphCustom, else NULL: writes the out-neighbours of any rank in any step and the
   *  part p > 0 of (x, w) that each of them gets; what is left of 1 stays. Returns how many there
   *  are, at most `capacity` = P - 1. Gives the same answer on all ranks, whenever it is asked; is
   *  called by whichever thread runs the step. */
  int (*outNeighbours)(void* user, int rank, int nranks, uint64_t step, int* neighbours,
                       double* weights, int capacity);
  /** First argument of outNeighbours; the caller's, to be kept while the state lives. */
  void* user;
} sparsecollPushSumConfig_t;

/** The defaults. */
#define SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER                                                  \
  {                                                                                            \
    sizeof(sparsecollPushSumConfig_t), 0x53505053u, SPARSECOLL_VERSION, 0, 1, 0, 0, 1.0, NULL, \
        NULL                                                                                   \
  }

/* ---------------------------------------------------------------------------------------------
 * Communicators
 */

/**
 * @brief Makes `nranks` communicators whose ranks are threads of this process.
 *
 * Afterwards thread r uses comms[r]. Local: one thread makes them all.
 * @param comms   out: nranks handles.
 * @param nranks  P, at least 1.
 * @param devices NULL = the configuration's device on every rank; else nranks of what `device` of a
 *                configuration may be. Ranks may share a device.
 * @param config  NULL = defaults.
 * @return sparsecollInvalidArgument, sparsecollSystemError (memory). On failure no communicator
 *         was made and sparsecollGetLastError(NULL) explains.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitAll(sparsecollComm_t* comms, int nranks,
                                                        const int* devices,
                                                        const sparsecollConfig_t* config);

/**
 * @brief Makes a communicator over the ranks of `nccl`. Collective over `nccl`.
 *
 * Splits an NCCL communicator of its own from `nccl`, which is left alone from then on and never
 * aborted. All buffers are in memory of its CUDA device. Verbs are ordered on `stream` like any
 * call of NCCL; gtopkAllreduce() and pushSumStep() do not wait on the host and may be captured into
 * CUDA graphs after one call of the same shape, all others wait for the sizes of messages. With
 * blocking = 0 calls are queued, as with every communicator, and are ordered by
 * sparsecollCommStreamWait().
 *
 * The first call of a shape (verb and arguments) compares the arguments of all ranks, and where
 * they differ every rank is told so and the communicator goes on. After that each message only says
 * which call it is of, and a difference is fatal; with SPARSECOLL_CHECK=1 every call compares. A
 * bad argument in a later call of a shape is sparsecollInvalidArgument on that rank only, which has
 * not made the call: its peers wait for it until their deadline. NCCL tells nobody which ranks are
 * missing, so that sparsecollTimeout does not name them.
 *
 * @param comm   out.
 * @param nccl   of NCCL 2.28 or later, idle; stays the caller's. The NCCL that made it is found in
 *               the process: linked by the program, or loaded as libnccl.so.2.
 * @param config NULL = defaults. `device` must be that of `nccl`, or left alone.
 * @return sparsecollInvalidArgument; sparsecollInvalidUsage when the library was built without
 *         NCCL, when there is none in the process or an older one, or when the ranks'
 *         configurations differ; sparsecollTimeout; sparsecollRemoteError; sparsecollSystemError;
 *         sparsecollUnhandledCudaError. On failure there is no communicator and
 *         sparsecollGetLastError(NULL) explains.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommInitNccl(sparsecollComm_t* comm,
                                                         struct ncclComm* nccl,
                                                         const sparsecollConfig_t* config);

/**
 * @brief Makes communicators of the ranks with the same color. Collective over `comm`.
 *
 * Waits for queued calls first. The new ones are independent of `comm` and go on when it ends.
 * @param color   0 or more, or SPARSECOLL_SPLIT_NOCOLOR.
 * @param key     orders the new ranks; equal keys are ordered by rank in `comm`.
 * @param newcomm out; *newcomm is set to NULL for SPARSECOLL_SPLIT_NOCOLOR.
 * @param config  NULL = that of `comm`, without a look at environment variables; else the ranks of
 *                one color agree on it.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage (`comm` goes on in both cases), or a
 *         fatal error. Colors whose ranks cannot agree on their configuration have no communicator;
 *         the others do. The deadline is that of `comm`; sparsecollCommAbort() of `comm` ends it.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommSplit(sparsecollComm_t comm, int color, int key,
                                                      sparsecollComm_t* newcomm,
                                                      const sparsecollConfig_t* config);

/** @brief This rank's number, 0 to P - 1. Local. @return sparsecollInvalidArgument. */
SPARSECOLL_API sparsecollResult_t sparsecollCommRank(sparsecollComm_t comm, int* rank);

/** @brief P. Local. @return sparsecollInvalidArgument. */
SPARSECOLL_API sparsecollResult_t sparsecollCommCount(sparsecollComm_t comm, int* count);

/**
 * @brief The number of the last collective call on this communicator (0 = none yet). Local.
 *
 * Calls that failed count too; local functions do not; a group is one call. With blocking = 0: of
 * the last call that was queued, for sparsecollCommWait().
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetSequence(sparsecollComm_t comm,
                                                            uint64_t* sequence);

/**
 * @brief Waits for every queued call. Local; returns at once with blocking = 1.
 *
 * @return the first error among the queued calls that was not returned before; its message says
 *         which call it was. Errors that follow from a fatal one are dropped. Truncated results of
 *         that call can be fetched if no other verb was queued behind it. sparsecollInvalidUsage
 *         while a group is open; sparsecollInvalidArgument; the first fatal error of a poisoned
 *         communicator.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommSynchronize(sparsecollComm_t comm);

/**
 * @brief Waits until the collective call with this number, and all before it, are done. Local.
 * @param sequence as sparsecollCommGetSequence() gave it behind the call.
 * @return as sparsecollCommSynchronize(), for the calls up to that one;
 *         sparsecollInvalidArgument for a number that was not given out yet.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommWait(sparsecollComm_t comm, uint64_t sequence);

/**
 * @brief Orders `stream` after the device work of every call so far. Local; waits on the host until
 *        queued calls have been made, but not until their work on the device is done.
 *
 * With blocking = 0 it is the way to results in device memory. Does nothing where no call had
 * device buffers.
 * @param stream of the communicator's device; NULL = the legacy default stream.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage while a group is open or for a stream
 *         that is captured, sparsecollUnhandledCudaError for one that CUDA refuses, the first fatal
 *         error of a poisoned communicator. Other errors of queued calls are left for
 *         sparsecollCommSynchronize() and sparsecollCommWait().
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommStreamWait(sparsecollComm_t comm,
                                                           sparsecollStream_t stream);

/**
 * @brief Frees a communicator with its residuals and push-sum states, whose handles become invalid.
 *
 * Queued calls are done first, within the deadline; what is still queued then is aborted. Over MPI
 * it is collective while the communicator is healthy, and must come before MPI_Finalize.
 * It is local and bounded once the communicator is poisoned. Between threads of one process it
 * never waits, so that one thread may destroy all of them in turn; a peer that still waits for this
 * rank gets sparsecollRemoteError.
 * @return sparsecollInvalidArgument for a handle that is none or was destroyed before;
 *         sparsecollInvalidUsage when another thread is inside a call on it, while a group is open,
 *         or when peers make another call (nothing is freed and the handle stays valid then);
 *         sparsecollTimeout when peers did not come, sparsecollInvalidUsage after an abort during
 *         the call, or another fatal error (what can be freed safely is, and the handle ends).
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommDestroy(sparsecollComm_t comm);

/**
 * @brief Ends whatever this rank is doing on `comm`, from any thread.
 *
 * Local, bounded, calls no MPI. A call that waits returns sparsecollInvalidUsage within a second,
 * and the communicator is poisoned; the handle stays valid until sparsecollCommDestroy().
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommAbort(sparsecollComm_t comm);

/**
 * @brief The error that poisoned the communicator, else sparsecollInProgress while queued calls are
 *        not done, else sparsecollSuccess. Local, from any thread.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetAsyncError(sparsecollComm_t comm,
                                                              sparsecollResult_t* asyncError);

/**
 * @brief What this rank's verbs did. Local.
 * @param which sparsecollStatsLast or sparsecollStatsTotal.
 * @param stats out, written up to its `size`.
 * @return sparsecollInvalidArgument, also for a struct without its initializer.
 */
SPARSECOLL_API sparsecollResult_t sparsecollCommGetStats(sparsecollComm_t comm, int which,
                                                         sparsecollStats_t* stats);

/** @brief A result's name and meaning, in static memory, for any value. */
SPARSECOLL_API const char* sparsecollGetErrorString(sparsecollResult_t result);

/**
 * @brief The last error on `comm`: rank, operation, sequence, expected, got. "" if there was none.
 *
 * Owned by the communicator, valid until the next call on it. NULL: the last failed init of the
 * calling thread. For a handle that is none or was destroyed: a text that says so.
 */
SPARSECOLL_API const char* sparsecollGetLastError(sparsecollComm_t comm);

/** @brief SPARSECOLL_VERSION of the library. @return sparsecollInvalidArgument for NULL. */
SPARSECOLL_API sparsecollResult_t sparsecollGetVersion(int* version);

/* ---------------------------------------------------------------------------------------------
 * The verbs
 *
 * Buffers are host memory, or memory of the communicator's device, found out in every call: what
 * CUDA calls device or managed memory is the device's, all else the host's. All buffers of one call
 * are in one place, or it is sparsecollInvalidArgument; ranks may differ. With device buffers the
 * call comes after what is on `stream`.
 *  - blocking = 1: the host waits for the stream and for messages; the last kernels are queued on
 *    `stream`, so that what is queued there next sees the result. Structs, counts and residuals on
 *    the host are complete on return.
 *  - blocking = 0: the call returns at once; its work goes on a stream of the communicator's own.
 *    Results are ordered after sparsecollCommStreamWait(), sparsecollCommSynchronize() or
 *    sparsecollCommWait().
 * The device's work itself has no deadline: a stream that never gets done holds up its call, and
 * the end of the communicator, for as long.
 * A stream that is captured into a CUDA graph is sparsecollInvalidUsage, but for what
 * sparsecollCommInitNccl() says. A library that was built without CUDA takes all memory for the
 * host's.
 */

/**
 * @brief Top-k sparse allreduce, dense in, dense out. Collective.
 *
 * With acc_r = send_r + residual_r and L_r = top-k of acc_r: s = sum over ranks of L_r, added in
 * rank order 0 .. P-1; G = top-k of s. recvbuff[i] = s[i] for i in G (divided by P for
 * sparsecollAvg), 0 elsewhere, the same bits on every rank. residual_r[i] = acc_r[i] - L_r[i] for i
 * in L_r and G (0 but for the rounding of 16-bit types), else acc_r[i]. Every algorithm gives
 * exactly this but
 *  - sparsecollAlgoDense, which delivers the rank-order sum of all acc and leaves the residual 0;
 *  - sparsecollAlgoTopkA2A: with m = ceil(n / P), L_r holds the largest floor(k(j+1)/P) -
 *    floor(kj/P) entries of each shard j = [jm, (j+1)m) of acc_r; all of s is the result, up to P k
 *    entries; the residual keeps acc_r minus L_r;
 *  - sparsecollAlgoHierarchical: s is added by node first, in rank order within each node, then
 *    over nodes by their lowest ranks; the same where no sum rounds;
 *  - sparsecollSelectReuse: L_r holds every acc_r[i], and G every s[i], of at least an estimated
 *    magnitude, about k of them (docs/algorithms/oktopk-reuse.md has the rule).
 *
 * @param sendbuff count values.
 * @param recvbuff count values, where sendbuff is; may be sendbuff.
 * @param count    n.
 * @param k        entries kept; above n it means n.
 * @param datatype a floating-point type.
 * @param op       sparsecollSum or sparsecollAvg.
 * @param residual of the same count, datatype and communicator; NULL = no error feedback.
 * @param stream   of device buffers; NULL with host buffers.
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
 * @brief Global top-k by a tree of merges, dense in, dense out. Collective.
 *
 * L_r as in sparseAllreduce(). At level t, for r a multiple of 2^(t+1): S_r := top-k(S_r +
 * S_{r + 2^t}), a missing partner passing through; the result on every rank is rank 0's S. The
 * receiver of a merge keeps what it dropped: D_r. With G = the result, the conserving rule leaves
 * residual_r[i] = acc_r[i] for i not in G, and (acc_r[i] - L_r[i] if i in L_r, else acc_r[i]) +
 * D_r[i] for i in G; the paper's rule leaves acc_r[i] - L_r[i] for i in L_r and G, else acc_r[i].
 *
 * Parameters and errors as sparseAllreduce().
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
 * @brief Sparse reduce-scatter: dense in, this rank's part of the sum out in coordinate form.
 *        Collective.
 *
 * L_r and s as in sparseAllreduce(). There is no second selection: rank r gets all entries of s in
 * its region [bounds[r], bounds[r + 1]), divided by P for sparsecollAvg; what cancelled is there as
 * an explicit 0. Everything sent is delivered: residual_r = acc_r minus L_r.
 *
 * @param sendbuff count values.
 * @param recv     its indexType (the same on all ranks), datatype, arrays and capacity are the
 *                 caller's; count and nnz are written. Indices are those of the whole vector. Its
 *                 arrays may not overlap sendbuff.
 * @param count    n.
 * @param k        entries that each rank keeps; above n it means n.
 * @param datatype of sendbuff and recv.
 * @param op       sparsecollSum or sparsecollAvg.
 * @param bounds   P + 1 borders, rising from 0 to count, the same on all ranks; read during the
 *                 call. A region may be empty. NULL: bounds[r] = floor(r * count / P).
 * @param residual of the same count, datatype and communicator; NULL = no error feedback.
 * @param stream   of device buffers; NULL with host buffers.
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
 * @brief Sends every entry to the owner of its index. Collective.
 *
 * Rank r owns the indices [bounds[r], bounds[r + 1]). recv holds what arrived, ordered by source
 * rank and, per source, by index. Indices are those of the whole vector and may repeat, so recv is
 * no input for the other functions in coordinate form. Nothing is added: values arrive with the
 * bits that they were sent with, -0 too, but for NaNs, which come out canonical.
 *
 * @param send       nnz may differ between ranks and may be 0. Unsorted, repeated or out-of-range
 *                   indices are sparsecollInvalidArgument.
 * @param recv       its indexType and datatype (those of send), arrays and capacity are the
 *                   caller's; count and nnz are written. Its arrays may not overlap those of send.
 * @param recvcounts out: how many entries came from each rank, P numbers in host memory; NULL: not
 *                   wanted. Written also with sparsecollTruncated.
 * @param bounds     P + 1 borders, rising from 0 to send->count, the same on all ranks; read during
 *                   the call. A region may be empty. NULL: bounds[r] = floor(r * count / P).
 * @param stream     of device buffers; NULL with host buffers.
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

/* ---------------------------------------------------------------------------------------------
 * Groups: tensor fusion without copying tensors together
 */

/**
 * @brief Opens a group: the verbs on `comm` from here to sparsecollGroupEnd() travel in shared
 *        messages, one latency for all. Local.
 *
 * They return sparsecollSuccess and do nothing yet; their arguments, structs and buffers belong to
 * the library until the group has ended. Local functions are not part of the group and run at once.
 * pushSumStep and the making or ending of objects are sparsecollInvalidUsage inside. Groups may be
 * nested; the outermost counts. All ranks make the same calls in the same order.
 * @return sparsecollInvalidArgument, or the first fatal error of a poisoned communicator.
 */
SPARSECOLL_API sparsecollResult_t sparsecollGroupStart(sparsecollComm_t comm);

/**
 * @brief Ends the group and makes its calls, as one collective call. Results are those of the same
 *        calls one by one.
 *
 * An error voids the whole group: no output, no residual is touched. A group in which nothing was
 * called does nothing.
 * @return sparsecollInvalidUsage when no group is open, when two calls use the same residual, or
 *         when one call's output is another's input or output; sparsecollTruncated when an output
 *         of some call was too small (all calls are done; each such recv has `needed` set, and
 *         sparsecollFetch() with the same struct gets its data); else as the verbs, the message
 *         naming the call.
 */
SPARSECOLL_API sparsecollResult_t sparsecollGroupEnd(sparsecollComm_t comm);

/**
 * @brief One iteration of push-sum (Stochastic Gradient Push). Every rank makes it, but hears only
 *        its neighbours.
 *
 * x is the numerator, in and out; the state has the weight w (1 at first), the step counter t, the
 * graph, and what is under way. The rank sends p (x, w) to each out-neighbour of step t, rounded to
 * the datatype, keeps x minus what it sent, adds what came in, in the order of steps and ranks, and
 * writes estimate = x / w. The estimates of all ranks approach the mean of their x; an optimizer
 * changes x between two steps and takes its gradients at the estimate.
 *
 * With maxDelay = 0 the step waits for the messages of step t. With maxDelay = tau > 0 (Overlap
 * SGP) it adds whatever has arrived and waits only for messages of steps up to t - tau; with -1 it
 * never waits. No message is lost or counted twice: the sums of x and of w over ranks and messages
 * under way never change but by rounding. With maxDelay = 0 the result has the same bits in every
 * run; otherwise it depends on what arrived when. Sums are formed in the accumulation type and
 * rounded once. Infinite entries turn into NaN, for x minus a part of x has no value then.
 *
 * With k > 0 a message holds the k largest entries of what changed since the last one on the same
 * edge, and moves the part `mixing` p of what the receiver knows of x, and of w (compressed
 * gossip).
 *
 * @param x        count values.
 * @param estimate count values, where x is, apart from it; NULL = not wanted.
 * @param count    of the state.
 * @param datatype of the state.
 * @param state    made with sparsecollPushSumCreate().
 * @param stream   of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument for arguments that do not fit the state, and for a custom graph
 *         that is none: nothing happened, peers were not told and wait for the corrected call.
 *         (With blocking = 0 a wrong custom graph is found when the step is made, which peers may
 *         count on by then: sparsecollInvalidUsage, and the communicator is poisoned.)
 *         sparsecollInvalidUsage within a group, or a fatal error: sparsecollTimeout when an
 *         in-neighbour was not heard from, sparsecollRemoteError also when it called another
 *         function. x is as it was then.
 *
 * Sources: Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push for Distributed Deep Learning,
 * ICML 2019; Koloskova, Stich, Jaggi, Decentralized Stochastic Optimization and Gossip Algorithms
 * with Compressed Communication, ICML 2019.
 */
SPARSECOLL_API sparsecollResult_t pushSumStep(void* x, void* estimate, size_t count,
                                              sparsecollDataType_t datatype,
                                              sparsecollPushSum_t state, sparsecollComm_t comm,
                                              sparsecollStream_t stream);

/* ---------------------------------------------------------------------------------------------
 * State of push-sum
 */

/**
 * @brief Makes a push-sum state for one tensor, at step 0 with weight 1. Collective; complete on
 *        return also where calls do not block.
 * @param state    out.
 * @param count    n.
 * @param datatype a floating-point type.
 * @param config   NULL = defaults: exponential graph, maxDelay 0, everything sent.
 * @param comm     that will use and own it.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage (ranks disagree, or within a group), or
 *         a fatal error.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumCreate(sparsecollPushSum_t* state, size_t count,
                                                          sparsecollDataType_t datatype,
                                                          const sparsecollPushSumConfig_t* config,
                                                          sparsecollComm_t comm);

/**
 * @brief Frees a push-sum state. Local. What is under way to this rank is lost with it: drain first
 *        if the sum matters.
 * @return sparsecollInvalidArgument for a handle that is none or was destroyed before, also with
 *         its communicator.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumDestroy(sparsecollPushSum_t state);

/**
 * @brief This rank's weight w. Local; waits for queued calls.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumWeight(sparsecollPushSum_t state,
                                                          double* weight);

/**
 * @brief Adds everything that is under way to x and w. Collective: all ranks have made the same
 *        steps. Afterwards sums over ranks alone are what they were at first.
 * @param x        count values, in and out.
 * @param estimate count values apart from x: x / w; NULL = not wanted.
 * @param stream   of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage (ranks disagree on the state, or within
 *         a group; or over NCCL for compressed gossip with maxDelay > 0 and captured steps, whose
 *         waiting messages belong to the graph), or a fatal error: sparsecollRemoteError also when
 * a peer made another number of steps, for it is at another call then.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumDrain(sparsecollPushSum_t state, void* x,
                                                         void* estimate, sparsecollStream_t stream);

/**
 * @brief Writes weight, step counter and what compressed gossip remembers to a file, not x. Local.
 *
 * There is always either the old file or the whole new one (temporary file beside it, fsync,
 * rename); mode 0600. With maxDelay = 0 it may follow any step, else only a drain (or load, or
 * create).
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage when messages may be under way,
 *         sparsecollSystemError when the file cannot be written.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumSave(sparsecollPushSum_t state,
                                                        const char* path);

/**
 * @brief Continues where the state was that this rank saved. Local; with the same set of files and
 *        the same x on all ranks everything goes on bit for bit.
 *
 * May differ from the saved state: maxDelay, k if both are 0 or both are not, mixing.
 * @return sparsecollInvalidArgument for a file that is damaged, of another version, or of another
 *         rank, P, count, datatype, graph, number of peers or kind of gossip;
 *         sparsecollInvalidUsage when messages may be under way, or steps of the state were
 *         captured into a CUDA graph; sparsecollSystemError when it cannot be read. The state is as
 *         it was then.
 */
SPARSECOLL_API sparsecollResult_t sparsecollPushSumLoad(sparsecollPushSum_t state,
                                                        const char* path);

/* ---------------------------------------------------------------------------------------------
 * Error feedback
 */

/**
 * @brief Makes a residual of zeros, bound to one tensor. Local.
 *
 * Its values are of the accumulation type: float32 for 16-bit tensors. It lives where the buffers
 * of the first call are that uses it; a later call with buffers elsewhere is
 * sparsecollInvalidArgument.
 * A verb that is given another count or datatype returns sparsecollInvalidArgument.
 * @param residual out.
 * @param count    values; two buffers of that length are kept.
 * @param datatype of the tensor, a floating-point type.
 * @param comm     that will use and own it.
 * @return sparsecollInvalidArgument, sparsecollSystemError (memory).
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualCreate(sparsecollResidual_t* residual,
                                                           size_t count,
                                                           sparsecollDataType_t datatype,
                                                           sparsecollComm_t comm);

/** @brief Frees a residual. Local. @return sparsecollInvalidArgument, sparsecollInvalidUsage. */
SPARSECOLL_API sparsecollResult_t sparsecollResidualDestroy(sparsecollResidual_t residual);

/**
 * @brief Copies the residual out. Local; NaNs come out canonical.
 * @param dst count values of the accumulation type, host memory.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualRead(sparsecollResidual_t residual, void* dst);

/**
 * @brief Replaces the residual. Local.
 * @param src count values of the accumulation type, host memory.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualWrite(sparsecollResidual_t residual,
                                                          const void* src);

/**
 * @brief Multiplies the residual by `factor`, rounded to the accumulation type first; 0 resets it
 *        to zeros, whatever it held. Local.
 * @return sparsecollInvalidArgument for a factor that is not finite in that type.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualScale(sparsecollResidual_t residual,
                                                          double factor);

/**
 * @brief Where the residual lives, on the host until its first call with device buffers: count
 *        values, valid until the next call that uses it. Local.
 * @return sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualPointer(sparsecollResidual_t residual,
                                                            void** pointer);

/**
 * @brief Writes the residual to a file: its values, rank, P, the number of its last call, and what
 *        the communicator has learnt from its calls (thresholds, cuts). Local; NaNs are canonical.
 *
 * There is always either the old file or the whole new one: a temporary file beside it, fsync,
 * rename; mode 0600; versioned, checksummed.
 * @param path of this rank's own file.
 * @return sparsecollSystemError when it cannot be written, sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualSave(sparsecollResidual_t residual,
                                                         const char* path);

/**
 * @brief Brings back what sparsecollResidualSave() wrote. Local, but to be called on all ranks with
 *        files of one step: results are then bit-identical to those without the interruption. Where
 *        only some ranks load, every call that it matters to is sparsecollInvalidUsage until all
 *        have.
 *
 * @param path a file of the same count, datatype, rank and P.
 * @return sparsecollInvalidArgument for any other file or a damaged one (nothing has changed then),
 *         sparsecollSystemError when it cannot be read.
 */
SPARSECOLL_API sparsecollResult_t sparsecollResidualLoad(sparsecollResidual_t residual,
                                                         const char* path);

/* ---------------------------------------------------------------------------------------------
 * Coordinate form: the pieces of which the dense verbs are made. For k <= n a dense verb equals
 * sparsecollTopk, its `v` verb and sparsecollScatter, bit for bit.
 */

/**
 * @brief acc = dense + residual; out = top-k of acc; the residual keeps acc minus out. Local.
 *
 * @param dense    count values.
 * @param k        entries kept; above count it means count.
 * @param residual of the same count and datatype; NULL = none.
 * @param out      its indexType, datatype, arrays and capacity are the caller's; a capacity below
 *                 min(k, count) is sparsecollInvalidArgument. count and nnz are written.
 * @param stream   of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage, sparsecollSystemError.
 */
SPARSECOLL_API sparsecollResult_t sparsecollTopk(const void* dense, size_t count, size_t k,
                                                 sparsecollDataType_t datatype,
                                                 sparsecollResidual_t residual,
                                                 sparsecollSparse_t* out, sparsecollComm_t comm,
                                                 sparsecollStream_t stream);

/**
 * @brief Sparse allreduce in coordinate form. Collective.
 *
 * s = sum over ranks of send_r in rank order; recv = top-k of s, or all of s, explicit zeros and
 * cancellations kept, for k = SPARSECOLL_ALL. What was not delivered, the entries of send_r outside
 * the result, is added to the residual (NULL = dropped). nnz may differ between ranks and may be 0.
 * sparsecollAlgoDense and sparsecollAlgoTopkA2A are sparsecollInvalidArgument here.
 *
 * @param send     unsorted, repeated or out-of-range indices are sparsecollInvalidArgument.
 * @param recv     its indexType and datatype (those of send), arrays and capacity are the caller's;
 *                 count and nnz are written. Its arrays may not overlap those of send.
 * @param k        entries kept; above count it means count.
 * @param residual of send's count and datatype; NULL = none.
 * @param stream   of device buffers; NULL with host buffers.
 * @return sparsecollTruncated when recv is too small on this rank: the operation is done on all
 *         ranks, recv->needed is set, and sparsecollFetch() gets the data;
 *         sparsecollInvalidArgument, sparsecollInvalidUsage, or a fatal error.
 */
SPARSECOLL_API sparsecollResult_t sparseAllreducev(
    const sparsecollSparse_t* send, sparsecollSparse_t* recv, size_t k, sparsecollRedOp_t op,
    sparsecollResidual_t residual, sparsecollComm_t comm, sparsecollStream_t stream);

/**
 * @brief Global top-k by a tree of merges, in coordinate form. Collective.
 *
 * As gtopkAllreduce() with L_r = top-k of send_r; entries of send_r outside L_r go to the residual
 * too. k = SPARSECOLL_ALL: the exact sum through the tree. Parameters and errors as
 * sparseAllreducev().
 */
SPARSECOLL_API sparsecollResult_t gtopkAllreducev(const sparsecollSparse_t* send,
                                                  sparsecollSparse_t* recv, size_t k,
                                                  sparsecollRedOp_t op,
                                                  sparsecollResidual_t residual,
                                                  sparsecollComm_t comm, sparsecollStream_t stream);

/**
 * @brief Zero-fills `dense` (in->count values), then writes the entries of `in`. Local.
 *
 * NaNs come out canonical and -0 as +0.
 * @param stream of device buffers; NULL with host buffers.
 * @return sparsecollInvalidArgument, sparsecollInvalidUsage.
 */
SPARSECOLL_API sparsecollResult_t sparsecollScatter(const sparsecollSparse_t* in, void* dense,
                                                    sparsecollComm_t comm,
                                                    sparsecollStream_t stream);

/**
 * @brief Gets the result of the call that just returned sparsecollTruncated. Local.
 *
 * The data stay until the next verb on the communicator; fetching does not remove them.
 * @param recv       a larger one, of the same indexType and datatype.
 * @param recvcounts after sparseAlltoall(): out, entries from each rank, P numbers, or NULL;
 *                   written also with sparsecollTruncated. After other verbs NULL.
 * @param stream     of device buffers; NULL with host buffers.
 * @return sparsecollTruncated when recv is still too small (needed is set), sparsecollInvalidUsage
 *         when nothing is kept, sparsecollInvalidArgument.
 */
SPARSECOLL_API sparsecollResult_t sparsecollFetch(sparsecollSparse_t* recv, size_t* recvcounts,
                                                  sparsecollComm_t comm, sparsecollStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* SPARSECOLL_SPARSECOLL_H_ */
