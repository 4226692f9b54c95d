// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// A process is killed at a random time while it saves states over and over: what is found is a
// whole file of one of its saves, and at most one temporary file beside each. Threads that are
// cancelled while they save leave whole files and no temporary ones.

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "support/catch.hpp"
#include "support/descriptors.hpp"
#include "support/folder.hpp"
#include "support/hang_guard.hpp"
#include "support/push_sum.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::fault {
namespace {

using test::Folder;
using test::Ranks;

constexpr std::size_t kLength = 100'000;

/// A residual and a push-sum state of one rank. Every save has its number as all values.
class States {
 public:
  States()
      : ranks_(1, test::default_config()),
        residual_(ranks_.comm(0), kLength),
        state_(ranks_.comm(0), kLength / 8, kGraph) {}

  void save(const Folder& folder, int number) {
    residual_.write(std::vector<float>(kLength, static_cast<float>(number)));
    std::vector<double> x(kLength / 8, number);
    if (state_.step(x) != sparsecollSuccess ||
        sparsecollResidualSave(residual_.handle(), residual(folder).c_str()) != sparsecollSuccess ||
        sparsecollPushSumSave(state_.handle(), state(folder).c_str()) != sparsecollSuccess)
      std::abort();
  }

  /// Loads both. Returns the number of the save, or -1 if there is no whole one.
  int load(const Folder& folder) {
    if (sparsecollResidualLoad(residual_.handle(), residual(folder).c_str()) != sparsecollSuccess ||
        sparsecollPushSumLoad(state_.handle(), state(folder).c_str()) != sparsecollSuccess)
      return -1;
    const std::vector<float> values = residual_.read();
    for (const float each : values)
      if (each != values[0]) return -1;
    return static_cast<int>(values[0]);
  }

  static std::string residual(const Folder& folder) { return folder.file("residual"); }
  static std::string state(const Folder& folder) { return folder.file("state"); }

 private:
  static constexpr sparsecollPushSumConfig_t kGraph = SPARSECOLL_PUSHSUM_CONFIG_INITIALIZER;
  const Ranks ranks_;
  test::Residual<float> residual_;
  const test::PushSum<double> state_;
};

/// Forks a process that saves with numbers from `first` on, and kills it after `wait`.
void kill_a_saving_process(const Folder& folder, int first, std::chrono::microseconds wait) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    States states;
    const char ready = 'r';
    if (write(ends[1], &ready, 1) != 1) _exit(1);
    for (int number = first;; ++number) states.save(folder, number);
  }
  char ready = ' ';
  REQUIRE(read(ends[0], &ready, 1) == 1);
  std::this_thread::sleep_for(wait);
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  for (const int end : ends) close(end);
}

TEST_CASE("a process that is killed while it saves leaves whole files") {
  const int kills = test::small_run() ? 30 : 250;
  const Folder folder;
  States states;
  states.save(folder, 0);
  std::mt19937_64 random(test::base_seed());
  int last = 0, leftovers = 0, saves = 0;
  double longest =
      6000;  // microseconds; more on a machine that gives a process little time to save
  for (int i = 0; i < kills; ++i) {
    const auto wait = std::chrono::microseconds(random() % static_cast<uint64_t>(longest));
    const int first = last + 1;
    kill_a_saving_process(folder, first, wait);
    const int found = states.load(folder);
    INFO("kill " << i << " after " << wait.count() << " us: found " << found);
    REQUIRE(found >= last);  // the old file, or one of the process's
    longest = std::clamp(longest * (found > last ? 0.8 : 1.25), 6000.0, 2e6);
    saves += found - last;
    last = found;
    const std::size_t files = folder.files();
    REQUIRE(files <= 4);  // a temporary one beside each stays until the next save of that file
    leftovers += files > 2 ? 1 : 0;
  }
  std::printf("%d kills, %d saves, %d temporary files left\n", kills, saves, leftovers);
  CHECK(saves > kills / 4);
  CHECK(leftovers > kills / 20);  // otherwise no kill hit a save
  states.save(folder, last);
  CHECK(folder.files() == 2);
  CHECK(states.load(folder) == last);
}

struct Saver {
  const Folder& folder;
  States states{};
};

TEST_CASE("a thread that is cancelled while it saves leaves whole files, and no descriptor") {
  const test::HangGuard guard("cancel in saves", 1);
  const int cancels = test::small_run() ? 10 : 60;
  const Folder folder;
  Saver saver{folder};
  saver.states.save(folder, 0);
  const long before = test::open_descriptors();
  std::mt19937_64 random(test::base_seed());
  for (int i = 0; i < cancels; ++i) {
    pthread_t thread;
    const auto body = [](void* argument) -> void* {
      Saver& own = *static_cast<Saver*>(argument);
      for (int number = 1;; ++number) {
        own.states.save(own.folder, number);
        pthread_testcancel();
      }
    };
    REQUIRE(pthread_create(&thread, nullptr, body, &saver) == 0);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    REQUIRE(pthread_cancel(thread) == 0);
    void* end = nullptr;
    REQUIRE(pthread_join(thread, &end) == 0);
    REQUIRE(end == PTHREAD_CANCELED);
    REQUIRE(folder.files() == 2);
    REQUIRE(saver.states.load(folder) >= 0);
    REQUIRE(test::open_descriptors() == before);
  }
}

TEST_CASE(
    "a save and an InitAll without descriptors fail clearly, change nothing and leak nothing") {
  const Folder folder;
  States states;
  states.save(folder, 7);
  const long before = test::open_descriptors();
  const Ranks ranks(1, test::default_config());
  const test::Residual<float> residual(ranks.comm(0), 10);
  int failures = 0;
  sparsecollResult_t result = sparsecollSystemError;
  for (int more = 0; more < 10 && result != sparsecollSuccess; ++more) {
    std::string message;
    sparsecollComm_t comms[4] = {};
    const sparsecollConfig_t config = test::default_config();
    sparsecollResult_t init = sparsecollSuccess;
    {
      const test::FewDescriptors few(more);
      result = sparsecollResidualSave(residual.handle(), folder.file("other").c_str());
      message = sparsecollGetLastError(ranks.comm(0));
      init = sparsecollCommInitAll(comms, 4, nullptr, &config);
    }
    CHECK((init == sparsecollSuccess || init == sparsecollSystemError));
    for (const sparsecollComm_t each : comms)
      if (each != nullptr) CHECK(sparsecollCommDestroy(each) == sparsecollSuccess);
    CHECK(test::open_descriptors() == before);
    if (result == sparsecollSuccess) break;
    ++failures;
    CHECK(result == sparsecollSystemError);
    CHECK(message.find("Too many open files") != std::string::npos);
    CHECK(folder.files() == 2);
  }
  CHECK(result == sparsecollSuccess);
  CHECK(failures > 0);
  CHECK(states.load(folder) == 7);
  CHECK(folder.files() == 3);
}

}  // namespace
}  // namespace sparsecoll::fault
