// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

namespace sparsecoll {

class Communicator;
class Operation;

using Operations = std::vector<std::unique_ptr<Operation>>;

/// The verbs that are recorded between sparsecollGroupStart and sparsecollGroupEnd. Only the thread
/// that is inside the communicator may use it.
class Group {
 public:
  Group();
  ~Group();

  bool open() const { return depth_ > 0; }
  /// Throws InvalidUsage while a group is open.
  void check_closed() const;
  /// Opens a group, or a group inside the open one.
  void start() { ++depth_; }
  /// Adds a verb to the open group.
  void record(std::unique_ptr<Operation> operation);
  /// Closes the innermost group. Returns the recorded verbs when that is the outermost one, too.
  Operations end();

 private:
  int depth_ = 0;
  Operations recorded_;
};

/// Runs the recorded verbs of a group as the next collective call.
void run_group(Communicator& communicator, const Operations& operations);

}  // namespace sparsecoll
