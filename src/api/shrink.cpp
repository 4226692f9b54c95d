// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
// Communicators that go on without ranks that are gone.
#include <algorithm>

#include "api/bridge.hpp"
#include "api/split.hpp"

namespace sparsecoll {

namespace {

std::vector<int> list_of(const Communicator& parent, const int* exclude, int count) {
  if (count < 0) fail(sparsecollInvalidArgument, "count: expected 0 or more, got ", count);
  std::vector<int> list(exclude, exclude + count);
  for (const int rank : list)
    if (rank < 0 || rank >= parent.size() || rank == parent.rank())
      fail(sparsecollInvalidArgument, "exclude: expected other ranks than this one, ",
           parent.rank(), ", of 0 to ", parent.size() - 1, ", got ", rank);
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

/// Makes the communicator of the ranks that remain of `parent`, and returns its handle. Collective
/// among them.
void* shrink(Communicator& parent, const ShrinkArguments& arguments, const Config& config) {
  parent.notify_of_poison();
  const uint64_t aborts = parent.aborts();
  std::shared_ptr<Communicator> child;
  void* handle = nullptr;
  const auto initialize = [&](ShrunkLink shrunk) {
    child = std::make_shared<Communicator>(std::move(shrunk.link), config, &parent);
    const AbortedTogether together(parent, child);
    if (parent.aborts() != aborts) child->abort();  // parent was aborted during the shrink
    handle = initialize_child(*child, shrunk.problem, shrunk.deadline, &shrunk.committed);
    child->continue_from(parent.shared_from_this(), shrunk.committed);
    child->check_healthy();  // parent may have been aborted after the child's last exchange
  };
  try {
    parent.link().shrink(arguments, initialize);
    return handle;
  } catch (const Error& error) {
    if (!handle) throw;
    communicators().erase(handle);
    child->poison_and_throw(error);  // ranks that have the child must not wait for this rank
  }
}

}  // namespace

}  // namespace sparsecoll

using namespace sparsecoll;

sparsecollResult_t sparsecollCommShrink(sparsecollComm_t comm, const int* exclude, int count,
                                        sparsecollComm_t* newcomm,
                                        const sparsecollConfig_t* config) {
  return on_communicator("sparsecollCommShrink", comm, [&](Communicator& parent) {
    parent.group().check_closed();
    parent.link().check_thread();
    ShrinkArguments arguments{{}, {}, parent.committed(), parent.config().values.timeoutMs};
    Config chosen = parent.config();
    try {
      if (exclude) arguments.excluded = list_of(parent, exclude, count);
      if (!newcomm) fail(sparsecollInvalidArgument, "newcomm: expected a pointer, got NULL");
      if (!exclude && count != 0)
        fail(sparsecollInvalidArgument, "count: expected 0 without a list, got ", count);
      chosen = child_config(parent, config);
    } catch (const Error& error) {
      arguments.problem = error;  // the shrink notifies the others, which would wait
    }
    *newcomm = static_cast<sparsecollComm_t>(shrink(parent, arguments, chosen));
    return sparsecollSuccess;
  });
}

sparsecollResult_t sparsecollCommGetFailed(sparsecollComm_t comm, int* ranks, int* count) {
  return on_communicator("sparsecollCommGetFailed", comm, [&](Communicator& communicator) {
    if (!count) fail(sparsecollInvalidArgument, "count: expected a pointer, got NULL");
    if (*count < 0) fail(sparsecollInvalidArgument, "count: expected 0 or more, got ", *count);
    communicator.link().check_thread();
    const std::vector<int> gone = communicator.link().gone();
    const auto room = static_cast<size_t>(*count);
    if (ranks) std::copy_n(gone.begin(), std::min(room, gone.size()), ranks);
    *count = static_cast<int>(gone.size());
    return sparsecollSuccess;
  });
}
