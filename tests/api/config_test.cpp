// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of make_config(): environment variables override fields of the struct, and each field is
// checked.

#include "api/config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "calls/algorithm_info.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/hang_guard.hpp"

namespace sparsecoll::unit {
namespace {

constexpr sparsecollConfig_t kDefaults = SPARSECOLL_CONFIG_INITIALIZER;

/// Sets an environment variable and unsets it in the destructor.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// Returns the error message of make_config(), or "" if it accepts the configuration.
std::string refusal(const sparsecollConfig_t* config = nullptr) {
  try {
    make_config(config);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollInvalidArgument);
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST_CASE("without a struct and variables the documented defaults apply") {
  const Config config = make_config(nullptr);
  CHECK(std::memcmp(&config.values, &kDefaults, sizeof kDefaults) == 0);
  CHECK(config.check);
  CHECK(config.log_level == LogLevel::none);
  CHECK(config.log_file.empty());
  CHECK_FALSE(config.simd);
  CHECK_FALSE(config.threads);
  const Config same = make_config(&kDefaults);
  CHECK(std::memcmp(&same.values, &kDefaults, sizeof kDefaults) == 0);
}

struct Field {
  const char* name;
  int sparsecollConfig_t::*member;
  std::vector<int> good;
  std::vector<int> bad;
};

std::vector<int> algorithm_numbers() {
  std::vector<int> numbers;
  for (const AlgorithmInfo& each : kAlgorithms) numbers.push_back(static_cast<int>(each.id));
  return numbers;
}

const std::vector<Field>& fields() {
  const int beyond = static_cast<int>(std::size(kAlgorithms));
  static const std::vector<Field> all{
      {"blocking", &sparsecollConfig_t::blocking, {0, 1}, {2, -1}},
      {"device", &sparsecollConfig_t::device, {INT_MIN, -1}, {0, 1, -2}},
      {"timeoutMs", &sparsecollConfig_t::timeoutMs, {0, 1, INT_MAX}, {-1, INT_MIN}},
      {"algorithm", &sparsecollConfig_t::algorithm, algorithm_numbers(), {-1, beyond, INT_MAX}},
      {"selection", &sparsecollConfig_t::selection, {0, 1}, {2, -1}},
      {"residualRule", &sparsecollConfig_t::residualRule, {0, 1}, {2, -1}},
      {"wire", &sparsecollConfig_t::wire, {0, 1, 2}, {3, -1}},
      {"repartitionInterval", &sparsecollConfig_t::repartitionInterval, {1, INT_MAX}, {0, -1}},
      {"thresholdInterval", &sparsecollConfig_t::thresholdInterval, {1, INT_MAX}, {0, -1}},
      {"allowReordered", &sparsecollConfig_t::allowReordered, {0, 1}, {2, -1}},
      {"allowSharded", &sparsecollConfig_t::allowSharded, {0, 1}, {2, -1}},
      {"nonFinite", &sparsecollConfig_t::nonFinite, {0, 1}, {2, -1}},
      {"expectedRanks", &sparsecollConfig_t::expectedRanks, {0, 1, INT_MAX}, {-1, INT_MIN}}};
  return all;
}

TEST_CASE("every field is copied if it is valid, and named in the error if it is not") {
  for (const Field& field : fields()) {
    sparsecollConfig_t config = kDefaults;
    for (const int value : field.good) {
      config.*field.member = value;
      CHECK(refusal(&config) == "");
      CHECK(make_config(&config).values.*field.member == value);
    }
    for (const int value : field.bad) {
      config.*field.member = value;
      const std::string words = refusal(&config);
      INFO(words);
      CHECK(contains(words, text("config.", field.name, ": expected ")));
      CHECK(contains(words, text("got ", value)));
    }
  }
}

TEST_CASE("a struct that does not start from its initializer is refused") {
  for (int what = 0; what < 4; ++what) {
    sparsecollConfig_t config = kDefaults;
    if (what == 0) config.magic ^= 1;
    if (what == 1) config.version = 0;
    if (what == 2) config.size = 0;
    if (what == 3) config.size = offsetof(sparsecollConfig_t, blocking) - 1;
    CHECK(contains(refusal(&config), "SPARSECOLL_CONFIG_INITIALIZER"));
  }
}

TEST_CASE("the known fields of a struct of an older or newer header are read") {
  sparsecollConfig_t config = kDefaults;
  config.timeoutMs = 77;
  config.thresholdInterval = 0;  // invalid, but beyond the size
  config.size = offsetof(sparsecollConfig_t, thresholdInterval);
  const Config shorter = make_config(&config);
  CHECK(shorter.values.timeoutMs == 77);
  CHECK(shorter.values.thresholdInterval == kDefaults.thresholdInterval);
  struct {
    sparsecollConfig_t known = kDefaults;
    int unknown[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  } newer;
  newer.known.size = sizeof newer;
  newer.known.version += 100;
  newer.known.timeoutMs = 78;
  const Config longer = make_config(&newer.known);
  CHECK(longer.values.timeoutMs == 78);
  CHECK(longer.values.size == sizeof(sparsecollConfig_t));
}

TEST_CASE("variables override the struct") {
  sparsecollConfig_t config = kDefaults;
  config.algorithm = sparsecollAlgoDense;
  config.timeoutMs = 1;
  const Variable algorithm("SPARSECOLL_ALGO", "oktopk"), selection("SPARSECOLL_SELECT", "exact"),
      wire("SPARSECOLL_WIRE", "bf16"), timeout("SPARSECOLL_TIMEOUT_MS", "1234"),
      check("SPARSECOLL_CHECK", "0"), debug("SPARSECOLL_DEBUG", "WARN"),
      simd("SPARSECOLL_SIMD", "portable"), threads("SPARSECOLL_THREADS", "3"),
      bind("SPARSECOLL_BIND", "0"), cuda_aware("SPARSECOLL_CUDA_AWARE", "0"),
      mpi_eager("SPARSECOLL_MPI_PIECES", "1"),
      dense_below("SPARSECOLL_DENSE_BELOW", "18446744073709551615"),
      expected_ranks("SPARSECOLL_EXPECTED_RANKS", "3"), non_finite("SPARSECOLL_NON_FINITE", "skip");
  const Config made = make_config(&config);
  CHECK(made.values.algorithm == sparsecollAlgoOktopk);
  CHECK(made.values.wire == sparsecollWireBf16);
  CHECK(made.values.timeoutMs == 1234);
  CHECK_FALSE(made.check);
  CHECK(made.log_level == LogLevel::warn);
  CHECK(made.simd == host::Simd::portable);
  CHECK(made.threads == 3);
  CHECK_FALSE(made.binds);
  CHECK(made.cuda_aware == false);
  CHECK(made.mpi_eager == true);
  CHECK(made.values.denseBelow == SIZE_MAX);
  CHECK(made.values.expectedRanks == 3);
  CHECK(made.values.nonFinite == sparsecollNonFiniteSkip);
}

TEST_CASE("a communicator has the expected number of ranks, or is refused") {
  const Variable world("WORLD_SIZE", "4");
  sparsecollConfig_t config = kDefaults;
  check_expected_ranks(make_config(&config), 1);
  config.expectedRanks = 4;
  const Config expects = make_config(&config);
  check_expected_ranks(expects, 4);
  try {
    check_expected_ranks(expects, 1);
    FAIL("one rank was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == sparsecollInvalidUsage);
    CHECK(contains(error.what(), "config.expectedRanks"));
    CHECK(contains(error.what(), "expected 4 ranks, got 1; WORLD_SIZE is 4"));
  }
}

TEST_CASE("one rank is suspicious where a launcher says that it started more") {
  std::vector<std::unique_ptr<Variable>> unset;
  for (const char* name : {"WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"})
    unset.push_back(std::make_unique<Variable>(name, ""));
  CHECK_FALSE(warning_of_one_rank(make_config(nullptr)));
  for (const char* name : {"WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    const Variable launched(name, "8");
    const auto warning = warning_of_one_rank(make_config(nullptr));
    REQUIRE(warning);
    CHECK(contains(*warning, text(name, " is 8")));
    sparsecollConfig_t config = kDefaults;
    config.expectedRanks = 1;
    CHECK_FALSE(warning_of_one_rank(make_config(&config)));
  }
  for (const char* other : {"1", "0", "-2", "8x", ""}) {
    const Variable launched("WORLD_SIZE", other);
    CHECK_FALSE(warning_of_one_rank(make_config(nullptr)));
  }
}

struct Words {
  const char* variable;
  std::vector<const char*> good;
  std::vector<const char*> bad;
  const char* listed;  ///< the valid words that the error lists
};

std::vector<const char*> algorithm_names() {
  std::vector<const char*> names;
  for (const AlgorithmInfo& each : kAlgorithms) names.push_back(each.name);
  return names;
}

TEST_CASE("an unknown word is an error that lists the valid ones") {
  std::string listed_algorithms;
  for (const char* name : algorithm_names())
    listed_algorithms += text(listed_algorithms.empty() ? "" : ", ", name);
  const std::vector<Words> all{
      {"SPARSECOLL_ALGO",
       algorithm_names(),
       {"", "Auto", "okto", "oktopk ", "1"},
       listed_algorithms.c_str()},
      {"SPARSECOLL_SELECT", {"exact", "reuse"}, {"", "guess"}, "exact, reuse"},
      {"SPARSECOLL_WIRE", {"native", "bf16", "int8"}, {"", "BF16", "fp8"}, "native, bf16, int8"},
      {"SPARSECOLL_NON_FINITE", {"keep", "skip"}, {"", "1", "Skip"}, "keep, skip"},
      {"SPARSECOLL_ALLOW_SHARDED", {"0", "1"}, {"", "2", "yes"}, "0, 1"},
      {"SPARSECOLL_CHECK", {"0", "1"}, {"", "2", "on", "01"}, "0, 1"},
      {"SPARSECOLL_DEBUG", {"WARN", "INFO", "TRACE"}, {"", "warn", "0"}, "WARN, INFO, TRACE"},
      {"SPARSECOLL_TIMEOUT_MS",
       {"0", "1", "2147483647"},
       {"", "-1", "+1", " 1", "1 ", "1s", "0x10", "2147483648", "1e3"},
       "0 to 2147483647"},
      {"SPARSECOLL_SIMD",
       {"auto", "portable"},
       {"", "AVX2", "sse2", "0"},
       "auto, avx512, avx2, portable"},
      {"SPARSECOLL_BIND", {"0", "1"}, {"", "auto", "yes"}, "0, 1"},
      {"SPARSECOLL_CUDA_AWARE", {"auto", "0", "1"}, {"", "yes", "2", "AUTO"}, "auto, 0, 1"},
      {"SPARSECOLL_MPI_PIECES", {"auto", "0", "1"}, {"", "-1", "61440"}, "auto, 0, 1"},
      {"SPARSECOLL_THREADS",
       {"1", "2", "1024"},
       {"", "0", "-1", "1025", "all"},
       "threads, 1 to 1024"}};
  for (const Words& words : all) {
    for (const char* good : words.good) {
      const Variable variable(words.variable, good);
      CHECK(refusal() == "");
    }
    for (const char* bad : words.bad) {
      const Variable variable(words.variable, bad);
      const std::string why = refusal();
      INFO(why);
      CHECK(contains(why, words.variable));
      CHECK(contains(why, words.listed));
      CHECK(contains(why, text("got '", bad, "'")));
    }
  }
}

TEST_CASE("a log file that cannot be opened is refused, if logging is on") {
  const Variable file("SPARSECOLL_DEBUG_FILE", "/nonexistent/folder/log");
  CHECK(refusal() == "");
  const Variable debug("SPARSECOLL_DEBUG", "INFO");
  CHECK(contains(refusal(), "SPARSECOLL_DEBUG_FILE: cannot open '/nonexistent/folder/log'"));
}

TEST_CASE("of a bad configuration the good parts count, and the bad ones have their defaults") {
  sparsecollConfig_t good = kDefaults;
  good.timeoutMs = 77;
  good.thresholdInterval = 5;
  for (const Field& field : fields()) {
    sparsecollConfig_t config = good;
    config.*field.member = field.bad.front();
    const CheckedConfig checked = check_config(&config);
    REQUIRE(checked.problem);
    CHECK(contains(checked.problem->what(), field.name));
    sparsecollConfig_t expected = good;
    expected.*field.member = kDefaults.*field.member;
    CHECK(std::memcmp(&checked.config.values, &expected, sizeof expected) == 0);
  }
  struct Bad {
    const char* variable;
    const char* value;
  };
  for (const Bad& bad :
       {Bad{"SPARSECOLL_ALGO", "x"}, Bad{"SPARSECOLL_SELECT", "x"}, Bad{"SPARSECOLL_WIRE", "x"},
        Bad{"SPARSECOLL_TIMEOUT_MS", "x"}, Bad{"SPARSECOLL_CHECK", "x"},
        Bad{"SPARSECOLL_DEBUG", "x"}, Bad{"SPARSECOLL_SIMD", "x"}, Bad{"SPARSECOLL_THREADS", "x"},
        Bad{"SPARSECOLL_CUDA_AWARE", "x"}, Bad{"SPARSECOLL_MPI_PIECES", "x"},
        Bad{"SPARSECOLL_RANKS_PER_NODE", "0"}}) {
    const Variable variable(bad.variable, bad.value);
    const CheckedConfig checked = check_config(&good);
    REQUIRE(checked.problem);
    CHECK(contains(checked.problem->what(), bad.variable));
    CHECK(std::memcmp(&checked.config.values, &good, sizeof good) == 0);
  }
  sparsecollConfig_t foreign = good;
  foreign.magic ^= 1;
  const Variable timeout("SPARSECOLL_TIMEOUT_MS", "1234");
  CHECK(check_config(&foreign).problem);
  CHECK(check_config(&foreign).config.values.timeoutMs == 1234);
  CHECK(check_config(&foreign).config.values.thresholdInterval == kDefaults.thresholdInterval);
}

TEST_CASE("the first problem of several is the one that is named") {
  const Variable algorithm("SPARSECOLL_ALGO", "x"), wire("SPARSECOLL_WIRE", "x");
  sparsecollConfig_t config = kDefaults;
  config.blocking = 7;
  CHECK(contains(refusal(&config), "config.blocking"));
  config.blocking = 1;
  CHECK(contains(refusal(&config), "SPARSECOLL_ALGO"));
}

TEST_CASE("a log is a file or a terminal; nothing else is opened") {
  const test::HangGuard guard("the log's file", 1, std::chrono::seconds(60));
  const Variable debug("SPARSECOLL_DEBUG", "INFO");
  const test::Folder folder;
  const std::string pipe = folder.file("pipe"), file = folder.file("log");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  {
    const Variable variable("SPARSECOLL_DEBUG_FILE", pipe);
    CHECK(refusal() ==
          "SPARSECOLL_DEBUG_FILE: expected a file, a terminal or /dev/null, got a "
          "FIFO, '" +
              pipe + "'");
  }
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);  // also if an open would not block
  {
    const Variable variable("SPARSECOLL_DEBUG_FILE", pipe);
    CHECK(contains(refusal(), "got a FIFO"));
  }
  close(reader);
  {
    const Variable variable("SPARSECOLL_DEBUG_FILE", folder.file(""));
    CHECK(contains(refusal(), "got a directory"));
  }
  for (const std::string& good :
       {file, std::string("/dev/null"), std::string("/dev/stderr"), std::string("/dev/stdout")}) {
    const Variable variable("SPARSECOLL_DEBUG_FILE", good);
    CHECK(refusal() == "");
  }
}

/// Runs body in a process whose standard error is a pipe. Returns what it wrote there.
template <class Body>
std::string standard_error_of(const Body& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string all;
  char some[256];
  for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;)
    all.append(some, static_cast<size_t>(got));
  close(ends[0]);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  return all;
}

TEST_CASE("/dev/stderr is the standard error also where that is a pipe") {
  CHECK(standard_error_of([] {
          Log(LogLevel::info, "/dev/stderr", "rank 0").write(LogLevel::info, "hello");
        }) == "sparsecoll rank 0 INFO hello\n");
}

TEST_CASE("a log is appended to its file") {
  const test::Folder folder;
  const std::string file = folder.file("log");
  test::put(file, "before\n");
  Log(LogLevel::info, file, "rank 0").write(LogLevel::info, "one");
  Log(LogLevel::info, file, "rank 1").write(LogLevel::warn, "two");
  CHECK(test::content(file) == "before\nsparsecoll rank 0 INFO one\nsparsecoll rank 1 WARN two\n");
}

TEST_CASE("ranks must agree on every field except the device and the log") {
  std::set<uint64_t> hashes{describe(make_config(nullptr)).hash()};
  size_t expected = 1;
  for (const Field& field : fields()) {
    Config config = make_config(nullptr);
    config.values.*field.member += 1;
    hashes.insert(describe(config).hash());
    expected += std::string(field.name) != "device";
    CHECK(hashes.size() == expected);
  }
  Config config = make_config(nullptr);
  config.log_level = LogLevel::trace;
  config.log_file = std::string("x");
  hashes.insert(describe(config).hash());
  CHECK(hashes.size() == expected);
  config.check = false;
  hashes.insert(describe(config).hash());
  CHECK(hashes.size() == expected + 1);
}

}  // namespace
}  // namespace sparsecoll::unit
