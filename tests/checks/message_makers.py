# SPDX-FileCopyrightText: 2026 The sparsecoll authors
# SPDX-License-Identifier: Apache-2.0
"""What makes messages. These places do:

- a list with a result code, followed by the words: fail(sparsecollTimeout, "deadline passed, ", names);
- fail() or Error() with a computed code;
- a call of a helper in HELPERS;
- text(), whose result another function puts into a message, except in the files of NO_MESSAGES;
- a line of the log of level WARN, and one to stderr;
- an exception of C++ or Python, sys.exit(), and die of a script, but not those of options, which explain themselves.

A message without words that is not in FORWARDED is a fault. If its words are an argument of a function, that belongs
into HELPERS, and the message into FORWARDED. Limit: a helper that adds words of its own is found by these alone.
"""

HOLE = "\0"  # stands for a value between words

CODES = {f"sparsecoll{name}" for name in ("InvalidArgument", "InvalidUsage", "RemoteError", "SystemError",
                                          "InternalError", "Timeout", "Truncated", "UnhandledCudaError")}
MAKERS = {"fail", "Error", "PeerTimeout", "CallNotStarted"}
EXCEPTIONS = {"runtime_error", "logic_error"}

# Functions that put arguments into a message, and the message: {0} is the words of the first argument, {+} those of
# all. The name has the file of the function, unless all functions of this name do the same.
HELPERS = {
    "cannot": "cannot {0} '...': ...",
    "expect_size": "{0}: expected ... elements, got ...",
    "refuse": "...: expected {0} {1}, got {2}",
    "src/api/arguments.cpp wrong": "...{+}",
    "src/api/bridge.hpp refuse": "called from a callback of {0} on this communicator",
    "src/api/completions.cpp threw": "done: expected a function that does not throw, got {0} for call ...",
    "src/api/config.cpp check": "config.{0}: expected {3}, got ...",
    "src/api/push_sum_config.cpp check": "config.{0}: expected {2}, got {3}",
    "src/api/push_sum_file.cpp check": "...: expected {0} ..., got ...",
    "src/api/timeline_file.cpp warn": "SPARSECOLL_TIMELINE: {0}",
    "src/api/topology_tree.cpp wrong": "SPARSECOLL_TOPOLOGY: ...: {-1}",
    "src/calls/framed/frame.cpp damaged": "a message of rank ... is damaged: {0} expected ..., got ...",
    "src/calls/framed/framed_group.cpp wrong": "rank ... sent a malformed group message: {0}",
    "src/collectives/push_sum/graph.cpp wrong": "config.outNeighbours(rank ..., step ...): {+}",
    "src/core/json.cpp wrong": "line ...: {0}",
    "src/transport/mpi_inbox.cpp damaged": "rank ... sent {1} of ... bytes, expected ...",
    "src/transport/rendezvous/session.cpp give_up": "rank ... failed in the init: {1}",
    "src/transport/rendezvous/session.cpp refuse": "{0}",
}
# Values that have words already where a message consists of them: an argument of a helper, a text() elsewhere, what a
# peer has sent, or what the system below has said.
FORWARDED = {
    "include/sparsecoll/cxx/communicator.hpp": ["sparsecollGetErrorString(result)"],
    "include/sparsecoll/cxx/error.hpp": ["message"],
    "include/sparsecoll/cxx/local_functions.hpp": ['std::string(name)+": "+problem'],
    "include/sparsecoll/cxx/queued_calls.hpp": ["message"],
    "include/sparsecoll/cxx/verbs.hpp": ['std::string(name)+": "+problem'],
    "perf/common/handles.cpp": ["message"],
    "perf/device/connect_nccl.cpp": ['std::string(what)+": "+nccl.error_string(result)'],
    "perf/device/storage.cpp": ['std::string(what)+": "+cudaGetErrorString(error)'],
    "src/api/arguments.cpp": ["name parts..."],
    "src/api/communicator.cpp": ["line"],
    "src/api/failures.cpp": ["error.why", '""'],
    "src/api/health.cpp": ["why_"],
    "src/api/transport_init.cpp": ["*warning"],
    "src/calls/framed/channel.cpp": ["what"],
    "src/calls/framed/shrink.cpp": ["notice.why"],
    "src/calls/stream/compare_arguments.cpp": ["what"],
    "src/core/error.hpp": ["text(parts...)"],
    "src/kernels/cuda/runtime.hpp": ['what ": " cudaGetErrorString(error) " (" cudaGetErrorName(error) ")"'],
    "src/transport/nccl/results.cpp": ['call ": " library.error_string(result) detail'],
    "src/transport/rendezvous/client.cpp": [
        "std::string(reinterpret_cast<constchar*>(payload.data()),payload.size())"],
    "src/transport/rendezvous/session.cpp": ["why", "problem"],
}
# Calls that give words.
VALUES = {"name_of_memory(kHost)": "the host's memory"}
# How the words of some text() begin, and the message that they are part of.
PARTS = {
    "a file with the checksum": "ranks disagree on topology (SPARSECOLL_TOPOLOGY): this rank passed {}",
    "...: this rank passed": "ranks disagree on {}",
    "function: this rank called": "ranks disagree on {}",
    "... bytes that this rank sent": "deadline passed, {}",
    "call abandoned": "deadline passed, {}",
    "nothing was heard from": "deadline passed, {}",
    "of the region from": "....indices: expected strictly increasing ones {}, got something else at entry ...",
    "... (the file is damaged)": "path '...': expected checksum ..., got {}",
}
# Files whose text() makes names, lines of information and files.
NO_MESSAGES = ("perf/", "src/api/communicator.cpp", "src/api/execution_context.cpp", "src/api/init_loaded_mpi.cpp",
               "src/api/reduction.cpp", "src/api/variables.cpp", "src/collectives/network/network.cpp",
               "src/core/timeline.cpp", "tools/info/print.cpp", "tools/tune/")
