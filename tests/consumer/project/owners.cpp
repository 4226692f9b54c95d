// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
//
// Uses the C++ header in C++17: two ranks as threads of this process, error feedback, and an error.
#include <algorithm>
#include <cstdio>
#include <sparsecoll/sparsecoll.hpp>
#include <thread>

namespace {

bool run(sparsecoll::Communicator& comm) {
  const std::vector<float> send =
      comm.rank() == 0 ? std::vector<float>{0, 5, 1, -3} : std::vector<float>{8, 2, 0, 0};
  std::vector<float> received(send.size());
  sparsecoll::Residual<float> residual(comm, send.size());
  comm.sparseAllreduce(send, received, 2, sparsecollSum, &residual);
  bool good = received == std::vector<float>{8, 7, 0, 0};
  good = good && residual.read() == (comm.rank() == 0 ? std::vector<float>{0, 0, 1, -3}
                                                      : std::vector<float>{0, 0, 0, 0});
  try {
    comm.sparseAllreduce(send, received, comm.rank() == 0 ? 1 : 2);
    return false;
  } catch (const sparsecoll::Error& error) {
    return good && error.code() == sparsecollInvalidUsage;
  }
}

}  // namespace

int main() {
  std::vector<sparsecoll::Communicator> comms = sparsecoll::Communicator::initAll(2);
  bool good[2] = {false, false};
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] { good[r] = run(comms[static_cast<std::size_t>(r)]); });
  for (std::thread& thread : threads) thread.join();
  std::printf("owners: %s\n", good[0] && good[1] ? "good" : "wrong");
  return good[0] && good[1] ? 0 : 1;
}
