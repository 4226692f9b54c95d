// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of small parts of src/core: canonical values, types, deadlines, the log, handles and
// statistics.

#include <cfenv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include "api/handles.hpp"
#include "core/deadline.hpp"
#include "core/error.hpp"
#include "core/float_environment.hpp"
#include "core/log.hpp"
#include "core/memory.hpp"
#include "core/numeric.hpp"
#include "core/stats.hpp"
#include "core/whole_number.hpp"
#include "support/catch.hpp"

namespace sparsecoll::unit {
namespace {

TEST_CASE("in results NaNs are canonical and zeros positive") {
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  for (const uint32_t nan : {0x7f800001u, 0xff812345u, 0x7fc00000u, 0xffffffffu}) {
    CHECK(bits(canonical(std::bit_cast<float>(nan))) == 0x7fc00000u);
    CHECK(bits(delivered(std::bit_cast<float>(nan))) == 0x7fc00000u);
    CHECK_FALSE(finite(std::bit_cast<float>(nan)));
  }
  CHECK(std::bit_cast<uint64_t>(canonical(std::bit_cast<double>(~uint64_t{0}))) ==
        0x7ff8000000000000ull);
  CHECK(bits(canonical(-0.0f)) == 0x80000000u);
  CHECK(bits(delivered(-0.0f)) == 0);
  CHECK(bits(delivered(-1e-45f)) == bits(-1e-45f));
  CHECK_FALSE(finite(std::bit_cast<float>(0xff800000u)));
  CHECK(finite(-3e38f));
}

TEST_CASE("sizes of types, and the narrowest index for a length") {
  CHECK(size_of(DataType::float32) == 4);
  CHECK(size_of(DataType::float64) == 8);
  CHECK(size_of(IndexType::index32) == 4);
  CHECK(size_of(IndexType::index64) == 8);
  CHECK(narrowest_index(0) == IndexType::index32);
  CHECK(narrowest_index(uint64_t{1} << 32) == IndexType::index32);
  CHECK(narrowest_index((uint64_t{1} << 32) + 1) == IndexType::index64);
  const int logs[] = {0, 0, 1, 2, 2, 3, 3, 3, 3, 4};
  for (uint64_t x = 0; x < 10; ++x) CHECK(ceil_log2(x) == logs[x]);
  CHECK(align_up(0) == 0);
  CHECK(align_up(1) == kAlignment);
  CHECK(align_up(64) == 64);
  CHECK(align_up(9, 8) == 16);
}

TEST_CASE("a deadline passes when its time is over; 0 means none") {
  CHECK_FALSE(Deadline::after(0).passed());
  CHECK_FALSE(Deadline::after(100000).passed());
  CHECK_FALSE(Deadline::after(INT_MAX).passed());
  const auto start = Clock::now();
  const Deadline soon = Deadline::after(30);
  const bool passed = soon.passed();
  CHECK((!passed || Clock::now() - start >= std::chrono::milliseconds(30)));
  std::this_thread::sleep_for(std::chrono::milliseconds(31));
  CHECK(soon.passed());
  const auto now = Clock::now();
  CHECK(soon.within(std::chrono::hours(1)) < now);
  CHECK(Deadline::after(0).within(std::chrono::seconds(1)) >= now + std::chrono::seconds(1));
  CHECK(Deadline::after(0).within(std::chrono::seconds(1)) < now + std::chrono::seconds(60));
}

TEST_CASE("a part of a deadline") {
  using std::chrono::milliseconds;
  const Deadline all = Deadline::after(100000);
  const auto half = all.part(50).within(milliseconds(1000000)) - all.start();
  CHECK(half == milliseconds(50000));
  CHECK(all.part(100).within(milliseconds(1000000)) == all.within(milliseconds(1000000)));
  CHECK_FALSE(Deadline::after(0).part(50).passed());
  const Deadline past = Deadline::after(1);
  std::this_thread::sleep_for(milliseconds(3));
  REQUIRE(past.passed());
  const auto now = Clock::now();
  CHECK(past.part(75).within(milliseconds(1000)) > now);  // a millisecond is left
}

TEST_CASE("a number is the whole text, and fits its type") {
  CHECK(whole_number<int>("0") == 0);
  CHECK(whole_number<int>("-12") == -12);
  CHECK(whole_number<uint64_t>("18446744073709551615") == 18446744073709551615u);
  for (const char* none : {"", " 1", "1 ", "+1", "1x", "0x1", "1.5", "2147483648"})
    CHECK_FALSE(whole_number<int>(none).has_value());
  CHECK_FALSE(whole_number<unsigned>("-1").has_value());
}

TEST_CASE("which errors are fatal") {
  for (const auto code :
       {sparsecollSuccess, sparsecollInvalidArgument, sparsecollInvalidUsage, sparsecollTruncated})
    CHECK_FALSE(fatal(code));
  for (const auto code : {sparsecollUnhandledCudaError, sparsecollSystemError,
                          sparsecollInternalError, sparsecollRemoteError, sparsecollTimeout})
    CHECK(fatal(code));
}

/// Returns whether arithmetic rounds down. 1 minus a small value is 1 if it rounds to nearest.
template <class T>
bool rounds_down() {
  const volatile T one = 1, small = std::numeric_limits<T>::epsilon() / 1024;
  return one - small < one;
}

TEST_CASE("the library rounds to nearest and restores the rounding of the caller") {
  std::fesetround(FE_DOWNWARD);
  const bool before = rounds_down<float>() && rounds_down<double>();
  bool within = false;
  {
    const FloatEnvironment environment;
    within = rounds_down<float>() || rounds_down<double>();
  }
  const bool after = rounds_down<float>() && rounds_down<double>();
  std::fesetround(FE_TONEAREST);
  CHECK(before);
  CHECK_FALSE(within);
  CHECK(after);
}

TEST_CASE("a log writes the messages of its level to its file, one line each") {
  const std::string path = "unit_core_test.log";
  std::remove(path.c_str());
  {
    const Log log(LogLevel::info, path, "rank 3 of 4");
    CHECK(log.wants(LogLevel::warn));
    CHECK_FALSE(log.wants(LogLevel::trace));
    log.write(LogLevel::warn, "first");
    log.write(LogLevel::trace, "too much");
    log.write(LogLevel::info, "second");
    const Log second(LogLevel::trace, path, "rank 0 of 4");
    second.write(LogLevel::trace, "third");
  }
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  CHECK(content.str() ==
        "sparsecoll rank 3 of 4 WARN first\nsparsecoll rank 3 of 4 INFO second\n"
        "sparsecoll rank 0 of 4 TRACE third\n");
  std::remove(path.c_str());
  CHECK_FALSE(Log().wants(LogLevel::warn));
  CHECK_THROWS_AS(Log(LogLevel::warn, "/nonexistent/folder/log", ""), Error);
}

TEST_CASE("a handle is found until it is erased, and only in its own table") {
  HandleTable<int> table(1), other(2);
  void* const a = table.insert(std::make_shared<int>(5));
  void* const b = table.insert(std::make_shared<int>(6));
  void* const c = other.insert(std::make_shared<int>(7));
  CHECK(*table.find(a) == 5);
  CHECK(*table.find(b) == 6);
  CHECK(*other.find(c) == 7);
  for (const void* foreign : {static_cast<const void*>(c), static_cast<const void*>(&table),
                              static_cast<const void*>(nullptr)})
    CHECK(table.find(foreign) == nullptr);
  const std::shared_ptr<int> held = table.find(a);
  table.erase(a);
  table.erase(a);
  CHECK(table.find(a) == nullptr);
  CHECK(*held == 5);
  CHECK(table.insert(std::make_shared<int>(8)) != a);  // a handle is never used twice
}

TEST_CASE("statistics are summed; the algorithm is that of the last call") {
  Stats total, call;
  call.algorithm = 2;
  call.bytes_sent = 10;
  call.bytes_received = 20;
  call.messages_sent = 3;
  call.selected = 4;
  call.result = 5;
  call.seconds = {0.5, 0.25, 0.125, 1.5};
  for (int i = 0; i < 2; ++i) total.add(call);
  CHECK(total.algorithm == 2);
  CHECK(total.bytes_sent == 20);
  CHECK(total.bytes_received == 40);
  CHECK(total.messages_sent == 6);
  CHECK(total.selected == 8);
  CHECK(total.result == 10);
  CHECK(total.seconds == std::array<double, 4>{1.0, 0.5, 0.25, 3.0});
}

}  // namespace
}  // namespace sparsecoll::unit
