// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Rank 0 receives any messages during a call. The call ends at once, with success or one of a few
// errors, and allocates no memory for sizes that a message only claims. Runs under libFuzzer, or in
// fuzz_corpus.cpp without it.
//
// fuzz_calls.hpp describes the input. Messages that are not raw get the header that rank 0 expects,
// with a valid checksum, so that the payload is parsed.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "calls/framed/channel.hpp"
#include "core/checksum.hpp"
#include "fuzz/fuzz_calls.hpp"

namespace {

using namespace sparsecoll;
using namespace sparsecoll::unit;

constexpr int kMaxRanks = 4;
constexpr uint8_t kKinds = 3;

/// The hashes of descriptors by call number.
using Descriptors = std::map<uint64_t, uint64_t>;

Descriptors descriptors_of(FuzzCall call, int P) {
  Descriptors all;
  for (const auto& message : record_calls(call, P).messages) {
    FrameHeader header;
    std::memcpy(&header, message.bytes.data(), sizeof header);
    if (header.kind == static_cast<uint16_t>(FrameKind::data))
      all[header.sequence] = header.descriptor;
  }
  return all;
}

const Descriptors& known_descriptors(FuzzCall call, int P) {
  static std::map<std::pair<FuzzCall, int>, Descriptors> known;
  const auto [found, inserted] = known.try_emplace({call, P});
  if (inserted) found->second = descriptors_of(call, P);
  return found->second;
}

/// Writes messages with the headers that rank 0 expects.
class FrameWriter {
 public:
  FrameWriter(FuzzCall call, int P)
      : descriptors_(known_descriptors(call, P)), ordinals_(static_cast<size_t>(P)) {}

  std::vector<std::byte> frame_of(const FuzzFrame& frame, size_t peer, ConstBytes payload) {
    if (frame.form & kFuzzRaw) return {payload.begin(), payload.end()};
    FrameHeader header{};
    header.magic = 0x46435053;
    header.version = 1;
    header.kind = static_cast<uint16_t>((frame.form & kKinds) + 1);
    header.sequence = uint64_t{1} + (frame.form >> kFuzzSequence);
    const auto found = descriptors_.find(header.sequence);
    header.descriptor = found == descriptors_.end() ? 0 : found->second;
    if (frame.form & kFuzzForeign) ++header.descriptor;
    header.covered_first = frame.covered_first;
    header.covered_count = frame.covered_count;
    header.ordinal = ordinals_[peer]++;
    header.payload = payload.size();
    header.result = frame.form & kFuzzLate ? sparsecollTimeout : sparsecollRemoteError;
    header.checksum = mix(checksum(std::as_bytes(std::span(&header, 1)))) + checksum(payload);
    std::vector<std::byte> message(sizeof header + payload.size());
    std::memcpy(message.data(), &header, sizeof header);
    if (!payload.empty())
      std::memcpy(message.data() + sizeof header, payload.data(), payload.size());
    return message;
  }

 private:
  const Descriptors& descriptors_;
  std::vector<uint64_t> ordinals_;
};

void send_all(FuzzCall call, ConstBytes input, std::vector<std::unique_ptr<Transport>>& ranks) {
  FrameWriter writer(call, static_cast<int>(ranks.size()));
  while (input.size() >= sizeof(FuzzFrame)) {
    FuzzFrame frame;
    std::memcpy(&frame, input.data(), sizeof frame);
    input = input.subspan(sizeof frame);
    const size_t claimed = frame.bytes[0] + size_t{256} * frame.bytes[1];
    const ConstBytes payload = input.first(std::min(claimed, input.size()));
    input = input.subspan(payload.size());
    const size_t peer = 1 + frame.peer % (ranks.size() - 1);
    ranks[peer]->send(0, writer.frame_of(frame, peer, payload));
  }
}

/// Returns whether confirm() found ranks that are not covered. Peers may cover fewer ranks than
/// necessary; the call must not complete then.
bool covers_too_few(sparsecollResult_t result, const char* message) {
  return result == sparsecollInternalError && std::strstr(message, "ranks were heard of");
}

bool is_expected(sparsecollResult_t result) {
  return result == sparsecollSuccess || result == sparsecollTruncated ||
         result == sparsecollRemoteError || result == sparsecollInvalidUsage;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kFuzzPrefix) return 0;
  const auto call = static_cast<FuzzCall>(data[0] % kFuzzCalls);
  const int P = 2 + data[1] % (kMaxRanks - 1);
  auto transports = make_local_transports(P);
  send_all(call, std::as_bytes(std::span(data, size)).subspan(kFuzzPrefix), transports);
  FuzzRank rank(std::move(transports[0]), call);
  transports.clear();  // the peers close, so that no message follows
  const sparsecollResult_t result = rank.make();
  if (is_expected(result) || covers_too_few(result, rank.message())) return 0;
  std::fprintf(stderr, "call %d, %d ranks: %s: %s\n", static_cast<int>(call), P,
               sparsecollGetErrorString(result), rank.message());
  std::abort();
}
