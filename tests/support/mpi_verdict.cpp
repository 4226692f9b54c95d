// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "support/mpi_verdict.hpp"

#include <cstdio>
#include <stdexcept>

#include "support/longer_deadlines.hpp"

namespace sparsecoll::test {

namespace {

/// Returns whether `mine` is true on any rank.
bool true_on_any(bool mine) {
  int own = mine ? 1 : 0, any = 0;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any != 0;
}

}  // namespace

void Verdict::check(const std::string& what, const std::string& text) {
  if (!text.empty()) failures_.push_back(what + ": " + text);
}

void Verdict::require(const std::string& what, bool good) {
  check(what, std::string(good ? "" : "failed"));
}

bool Verdict::any_failed() const { return true_on_any(!failures_.empty()); }

int Verdict::report(const char* program) const {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int P = size_of(MPI_COMM_WORLD);
  std::string text;
  for (std::size_t i = 0; i < failures_.size() && i < 20; ++i) {
    text += "  rank " + std::to_string(rank) + ": " + failures_[i] + "\n";
  }
  const bool failed = any_failed();
  if (rank != 0) {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  } else {
    for (int from = 1; from < P; ++from) {
      MPI_Status status;
      int length = 0;
      MPI_Probe(from, 1, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_CHAR, &length);
      std::string other(static_cast<std::size_t>(length), ' ');
      MPI_Recv(other.data(), length, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      text += other;
    }
    std::printf("%s P=%d: %s\n%s", program, P, failed ? "FAILED" : "passed", text.c_str());
  }
  return failed ? 1 : 0;
}

std::string unless_a_rank_is_late(const std::function<std::string()>& body) {
  for (int attempt = 0;; ++attempt) {
    const std::string verdict = body();
    const bool late = says_late(verdict), wrong = !verdict.empty() && !late;
    if (attempt == 3 || true_on_any(wrong) || !true_on_any(late)) return verdict;
    if (late) std::printf("again, because of: %s\n", verdict.c_str());
  }
}

bool fails_on_any(const std::string& text) { return true_on_any(!text.empty()); }

std::string with_longer_deadlines_of_ranks(int first_ms,
                                           const std::function<std::string(int ms)>& body) {
  return with_longer_deadlines(first_ms, body, true_on_any);
}

MpiCommunicator::MpiCommunicator(MPI_Comm mpi, const sparsecollConfig_t& config) {
  const sparsecollResult_t result = sparsecollCommInitMpi(&comm_, mpi, &config);
  if (result != sparsecollSuccess) {
    throw std::runtime_error(std::string("sparsecollCommInitMpi: ") +
                             sparsecollGetErrorString(result) + " [" +
                             sparsecollGetLastError(nullptr) + "]");
  }
}

MpiCommunicator::~MpiCommunicator() { destroy(); }

sparsecollResult_t MpiCommunicator::destroy() {
  if (comm_ == nullptr) return sparsecollSuccess;
  const sparsecollResult_t result = sparsecollCommDestroy(comm_);
  comm_ = nullptr;
  return result;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

}  // namespace sparsecoll::test
