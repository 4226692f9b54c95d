// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/deviations.hpp"

#include <cctype>

namespace sparsecoll::test {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_word_part(const std::string& text, std::size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}

bool names_another_rank(const std::string& message, int self) {
  for (int rank = 0; rank < 32; ++rank) {
    if (rank != self && has_word(message, "rank " + std::to_string(rank))) return true;
  }
  return false;
}

std::vector<Deviation> dense_disagreements() {
  return {
      {"count",
       false,
       false,
       [](Arguments& a, Tensor& t) {
         a.count += 1;
         a.residual = t.longer.handle();
       },
       {{"count"}, {"1000"}, {"1001"}}},
      {"k", false, false, [](Arguments& a, Tensor&) { a.k = 29; }, {{"k"}, {"23"}, {"29"}}},
      {"k beyond n",
       false,
       false,
       [](Arguments& a, Tensor&) { a.k = 5000; },
       {{"k"}, {"23"}, {"5000", "1000"}}},
      {"datatype",
       false,
       false,
       [](Arguments& a, Tensor& t) {
         a.datatype = sparsecollFloat64;
         a.residual = t.doubles.handle();
       },
       {{"datatype"},
        {"float32", "sparsecollFloat32", "7"},
        {"float64", "sparsecollFloat64", "8"}}},
      {"op",
       false,
       false,
       [](Arguments& a, Tensor&) { a.op = sparsecollAvg; },
       {{"op"}, {"sum", "sparsecollSum", "0"}, {"avg", "sparsecollAvg", "4"}}},
      {"verb",
       false,
       false,
       [](Arguments& a, Tensor&) {
         a.verb = a.verb == Verb::kGtopk ? Verb::kSparse : Verb::kGtopk;
       },
       {{"sparseAllreduce"}, {"gtopkAllreduce"}}},
      {"form",
       false,
       false,
       [](Arguments& a, Tensor&) { a.coordinate_form = true; },
       {{"sparseAllreduce", "gtopkAllreduce"}, {"sparseAllreducev", "gtopkAllreducev"}}},
  };
}

std::vector<Deviation> sparse_disagreements() {
  return {
      {"count v",
       true,
       false,
       [](Arguments& a, Tensor& t) {
         a.in.count += 1;
         a.residual = t.longer.handle();
       },
       {{"count"}, {"1000"}, {"1001"}}},
      {"k v", true, false, [](Arguments& a, Tensor&) { a.k = 29; }, {{"k"}, {"23"}, {"29"}}},
      {"k all v",
       true,
       false,
       [](Arguments& a, Tensor&) { a.k = SPARSECOLL_ALL; },
       {{"k"}, {"23"}, {"all", "SPARSECOLL_ALL", "18446744073709551615"}}},
      {"datatype v",
       true,
       false,
       [](Arguments& a, Tensor& t) {
         a.in.datatype = a.out.datatype = sparsecollFloat64;
         a.in.values = t.in_doubles.data();
         a.out.values = t.out_doubles.data();
         a.residual = t.doubles.handle();
       },
       {{"datatype"},
        {"float32", "sparsecollFloat32", "7"},
        {"float64", "sparsecollFloat64", "8"}}},
      {"index type v",
       true,
       false,
       [](Arguments& a, Tensor& t) {
         a.in.indexType = a.out.indexType = sparsecollIndex64;
         a.in.indices = t.in_wide.data();
         a.out.indices = t.out_wide.data();
       },
       {{"indexType", "index type"},
        {"index32", "sparsecollIndex32", "uint32", "32", "0"},
        {"index64", "sparsecollIndex64", "uint64", "64", "1"}}},
      {"op v",
       true,
       false,
       [](Arguments& a, Tensor&) { a.op = sparsecollAvg; },
       {{"op"}, {"sum", "sparsecollSum", "0"}, {"avg", "sparsecollAvg", "4"}}},
      {"verb v",
       true,
       false,
       [](Arguments& a, Tensor&) {
         a.verb = a.verb == Verb::kGtopk ? Verb::kSparse : Verb::kGtopk;
       },
       {{"sparseAllreducev"}, {"gtopkAllreducev"}}},
  };
}

}  // namespace

bool has_word(const std::string& text, const std::string& word) {
  const std::string where = lower(text);
  const std::string what = lower(word);
  for (std::size_t at = where.find(what); at != std::string::npos; at = where.find(what, at + 1)) {
    if (!is_word_part(where, at + what.size()) && (at == 0 || !is_word_part(where, at - 1))) {
      return true;
    }
  }
  return false;
}

std::vector<Deviation> disagreements() {
  std::vector<Deviation> all = dense_disagreements();
  for (const Deviation& deviation : sparse_disagreements()) all.push_back(deviation);
  return all;
}

std::vector<Deviation> all_deviations() {
  std::vector<Deviation> all = disagreements();
  for (const Deviation& deviation : bad_dense_arguments()) all.push_back(deviation);
  for (const Deviation& deviation : bad_sparse_arguments()) all.push_back(deviation);
  return all;
}

std::string judge(const Attempt& done, const Deviation& deviation, int rank, int odd) {
  const sparsecollResult_t want =
      deviation.bad && rank == odd ? sparsecollInvalidArgument : sparsecollInvalidUsage;
  const std::string got =
      std::string(sparsecollGetErrorString(done.result)) + " [" + done.message + "]";
  if (done.result != want) return got + " instead of " + sparsecollGetErrorString(want);
  if (done.changed) return "the refused call changed memory: " + got;
  if (done.message.empty()) return "no message";
  if (rank != odd && !has_word(done.message, "rank " + std::to_string(odd))) {
    return "the message does not name rank " + std::to_string(odd) + ": " + got;
  }
  if (rank == odd && !deviation.bad && !names_another_rank(done.message, rank)) {
    return "the message names no other rank: " + got;
  }
  for (const std::vector<std::string>& alternatives : deviation.words) {
    bool found = false;
    for (const std::string& word : alternatives) found = found || has_word(done.message, word);
    if (!found) return "the message lacks '" + alternatives[0] + "': " + got;
  }
  return "";
}

}  // namespace sparsecoll::test
