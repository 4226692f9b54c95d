// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that are threads of this process.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

#include "ranks.h"

namespace train {
namespace {

class Threads final : public Ranks {
 public:
  explicit Threads(int count) : count_(count) {}

  Outcome run(const sparsecoll::Config& config, const Body& body) override {
    std::vector<sparsecoll::Communicator> comms = sparsecoll::Communicator::initAll(count_, config);
    Outcome outcome;
    std::vector<std::jthread> threads;
    for (sparsecoll::Communicator& comm : comms) {
      threads.emplace_back([&] {
        try {
          const Outcome own = body(comm);
          if (&comm == &comms.front()) outcome = own;
        } catch (const std::exception& error) {
          std::fprintf(stderr, "train_torch: %s\n", error.what());
          std::_Exit(EXIT_FAILURE);
        }
      });
    }
    threads.clear();  // joins
    return outcome;
  }

 private:
  int count_;
};

}  // namespace

std::unique_ptr<Ranks> make_threads(int count) { return std::make_unique<Threads>(count); }

}  // namespace train
