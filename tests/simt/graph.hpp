// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Work that is captured from streams, and launched again and again.

#include <thread>

#include "machine.hpp"

/// A branch is the work of one stream.
struct CUgraph_st {
  /// A node has work; or, without work, it says that the branch continues after the first nodes of
  /// another branch.
  struct Node {
    size_t branch;
    simt::MakeWork make;
    size_t after_branch = 0;
    size_t after_nodes = 0;
  };

  std::vector<int> device;  ///< of each branch
  std::vector<Node> nodes;  ///< in the order of the calls
};

struct CUgraphExec_st {
  CUgraph_st graph;
  std::vector<simt::Marker>
      last;  ///< held by a launch: launches of one graph do not run at the same time
};

namespace simt {

/// A handle that can be distinguished from those of destroyed graphs.
cudaGraph_t make_graph(CUgraph_st graph);

/// The state of a capture between its begin and its end. Its streams hold it, and so do events that
/// were recorded there.
class Capture {
 public:
  Capture(const std::shared_ptr<CUstream_st>& origin, cudaStreamCaptureMode mode);

  cudaError_t add(size_t branch, const MakeWork& make);
  /// Continues a stream after an event of this capture, and makes it one of the capture's streams.
  cudaError_t add_wait(const std::shared_ptr<CUstream_st>& stream, const CUevent_st& event);
  void invalidate() { invalidated_ = true; }
  /// Ends the capture. Returns the graph, null after an error.
  cudaError_t end(const CUstream_st& stream, cudaGraph_t* graph);

  cudaError_t error() const {
    return invalidated_ ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  }
  size_t nodes(size_t branch) const;
  bool ended() const { return streams_.empty(); }
  bool is_of_this_thread() const { return thread_ == std::this_thread::get_id(); }
  cudaStreamCaptureMode mode() const { return mode_; }
  unsigned long long id() const { return id_; }

 private:
  void join(const std::shared_ptr<CUstream_st>& stream);
  /// Returns whether the first branch ends after all others.
  bool is_joined() const;

  std::vector<std::shared_ptr<CUstream_st>>
      streams_;  ///< the first is the stream on which the capture began
  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const unsigned long long id_;
  bool invalidated_ = false;
  CUgraph_st graph_;
};

}  // namespace simt
