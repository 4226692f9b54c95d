// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Tests of SPARSECOLL_TIMELINE with device memory: the recorded work of the device is within the
// calls.

#include <filesystem>
#include <map>

#include "devices/backends.hpp"
#include "devices/device_ranks.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/folder.hpp"
#include "support/timeline_file.hpp"
#include "support/variable.hpp"

namespace sparsecoll::devices {
namespace {

using test::RecordedSpan;
using test::TimelineFile;

// Messages so long that they are not copied to the device while they arrive.
constexpr std::size_t kCount = 100000, kK = 30000;
constexpr int kCalls = 3;
constexpr double kClockSkew = 1000;  // microseconds between device and busy host
const char* const kExchange = "exchange on the device";

template <class T>
struct Calls {
  template <class Backend>
  void operator()(Backend, const RankContext& context) const {
    const typename Backend::Stream stream;
    const auto x = test::make_data<T>(test::Kind::kHeavyTail, kCount, context.rank, context.P, 1);
    typename Backend::template Array<T> values(x);
    for (int call = 0; call < kCalls; ++call) {
      context.done(sparseAllreduce(values.get(), values.get(), kCount, kK, test::kDatatype<T>,
                                   sparsecollSum, nullptr, context.comm, stream));
      context.record.add(values.read(stream));
    }
  }
};

/// Returns the files of the ranks that have spans in `lane`.
std::vector<TimelineFile> files_with(const std::string& lane, const test::Folder& folder) {
  std::vector<TimelineFile> files;
  for (const auto& each : std::filesystem::directory_iterator(folder.file(""))) {
    TimelineFile file(each.path().string());
    if (!file.in(lane, 1).empty()) files.push_back(std::move(file));
  }
  return files;
}

std::map<std::string, int> count_names(const std::vector<RecordedSpan>& spans) {
  std::map<std::string, int> names;
  for (const RecordedSpan& span : spans) ++names[span.name];
  return names;
}

void check_copies(const TimelineFile& file, std::uint64_t number) {
  const RecordedSpan call = file.call(number);
  CAPTURE(number, call.begin, call.end);
  const auto spans = file.in("device", number);
  const auto names = count_names(spans);
  CHECK(names.count("pack") == 1);
  CHECK(names.count("copy to device") == 1);
  CHECK(count_names(file.in("host", number)).count("wait for device") == 1);
  double before = call.begin - kClockSkew;
  for (const RecordedSpan& span : spans) {
    CAPTURE(span.name, span.begin, span.end);
    CHECK(span.within(call, kClockSkew));
    // Spans of one stream follow one another.
    CHECK(span.begin >= before - 1);
    CHECK(span.end >= span.begin);
    before = span.end;
  }
}

/// The last exchanges may end after the call returned.
void check_exchanges(const TimelineFile& file, std::uint64_t number) {
  CHECK(!file.in(kExchange, number).empty());
  for (const RecordedSpan& span : file.in(kExchange, number)) {
    CHECK(span.begin >= file.call(number).begin - kClockSkew);
    CHECK(span.end >= span.begin);
  }
}

TEST_CASE("work of a device is recorded within its calls") {
  constexpr int P = 3;
  const test::Folder folder;
  {
    const test::Variable variable("SPARSECOLL_TIMELINE", folder.file("%r"));
    // A timeline does not change results.
    CHECK(compare_backends(test::default_config(), P, Calls<float>{}) == "");
  }
  const auto files = files_with(over_nccl() ? kExchange : "device", folder);
  CHECK(files.size() == P);
  for (const TimelineFile& file : files)
    for (std::uint64_t call = 1; call <= kCalls; ++call)
      over_nccl() ? check_exchanges(file, call) : check_copies(file, call);
}

}  // namespace
}  // namespace sparsecoll::devices
