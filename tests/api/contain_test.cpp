// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Exceptions that are none of the library's, and InternalErrors: wherever they come from, the
// communicator is poisoned and its peers are told. Other errors outside of a call change nothing.

#include <stdexcept>

#include "api/communicators.hpp"
#include "support/catch.hpp"
#include "support/typed.hpp"

namespace sparsecoll::unit {
namespace {

struct Thrown {
  const char* words;
  void (*now)();
};

const Thrown kThrown[] = {{"mine", [] { throw std::runtime_error("mine"); }},
                          {"an exception that is no std::exception", [] { throw 7; }},
                          {"a bug", [] { throw Error(sparsecollInternalError, "a bug"); }}};

/// A way to run code of the communicator.
struct Way {
  const char* name;
  int blocking;
  void (*run)(Communicator& communicator, void (*body)());
};

void run_as_call(Communicator& communicator, void (*body)()) {
  Descriptor descriptor;
  descriptor.verb = static_cast<uint64_t>(Verb::sparse_allreduce);
  communicator.run_collective(
      descriptor, [] {}, [&](AgreedCall&) { body(); });
}

const Way kWays[] = {
    {"a function", 1, [](Communicator& c, void (*body)()) { c.contain(body); }},
    {"the begin of a call", 1, [](Communicator& c, void (*body)()) { c.begin_call(body); }},
    {"a call", 1, run_as_call},
    {"the check of a call", 1,
     [](Communicator& c, void (*body)()) {
       Descriptor descriptor;
       descriptor.verb = static_cast<uint64_t>(Verb::sparse_allreduce);
       c.run_collective(descriptor, body, [](AgreedCall&) {});
     }},
    {"a function behind queued calls", 0, [](Communicator& c, void (*body)()) { c.contain(body); }},
    {"a queued call", 0,
     [](Communicator& c, void (*body)()) {
       c.enqueue("test", [&c, body] { run_as_call(c, body); });
       c.queue()->wait_idle();
       c.throw_queued_failure(c.sequence());
     }},
    {"a queued call before it begins", 0, [](Communicator& c, void (*body)()) {
       c.enqueue("test", body);
       c.queue()->wait_idle();
       c.throw_queued_failure(c.sequence());
     }}};

sparsecollResult_t reduce(sparsecollComm_t comm) {
  float x[4] = {1, 2, 3, 4};
  const sparsecollResult_t result =
      sparseAllreduce(x, x, 4, 2, sparsecollFloat32, sparsecollSum, nullptr, comm, nullptr);
  return result == sparsecollSuccess ? sparsecollCommSynchronize(comm) : result;
}

TEST_CASE("what is no error of the library's poisons the communicator, whichever way it comes") {
  for (const Way& way : kWays) {
    for (const Thrown& thrown : kThrown) {
      INFO(way.name << ", " << thrown.words);
      sparsecollConfig_t config = test::default_config();
      config.blocking = way.blocking;
      Communicators ranks(2, config);
      for (const int rank : {0, 1}) ranks[rank].start();
      std::string message;
      try {
        way.run(ranks[0], thrown.now);
      } catch (const Error& error) {
        CHECK(error.code() == sparsecollInternalError);
        message = error.what();
      }
      CHECK(message.find(thrown.words) != std::string::npos);
      CHECK(ranks[0].health().code() == sparsecollInternalError);
      CHECK(reduce(ranks.handle(0)) == sparsecollInternalError);
      CHECK(reduce(ranks.handle(1)) == sparsecollRemoteError);
      CHECK(ranks.destroy(0) == sparsecollSuccess);
      CHECK(ranks.destroy(1) == sparsecollSuccess);
    }
  }
}

TEST_CASE("an error of a local function does not poison, unless it is a bug") {
  for (const auto code : {sparsecollInvalidArgument, sparsecollInvalidUsage, sparsecollTruncated,
                          sparsecollSystemError}) {
    Communicators ranks(2, test::default_config());
    CHECK_THROWS_AS(ranks[0].contain([&] { throw Error(code, "local"); }), Error);
    CHECK_THROWS_AS(ranks[0].contain([] { throw std::bad_alloc(); }), std::bad_alloc);
    CHECK(ranks[0].health().code() == sparsecollSuccess);
    CHECK(ranks.run("afterwards", [&](int rank) {
      return test::expect("call", reduce(ranks.handle(rank)), sparsecollSuccess,
                          ranks.handle(rank));
    }) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::unit
