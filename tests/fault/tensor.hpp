// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tensors of a random schedule. Each rank has a residual for each tensor, with its expected
// values after each call.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/compare.hpp"
#include "support/ranks.hpp"
#include "support/typed.hpp"

namespace sparsecoll::fault {

class Tensor {
 public:
  virtual ~Tensor() = default;
  /// Creates the residuals of all ranks with their initial values. A rank of another process has no
  /// communicator here, and no residual.
  virtual void create(const std::vector<sparsecollComm_t>& comms) = 0;
  /// Begins to plan the next call of the schedule.
  virtual void begin_call() = 0;
  /// Compares rank's residual with its expected values after `calls` calls. Returns "" if they are
  /// equal.
  virtual std::string difference(int rank, size_t calls) const = 0;
  /// Saves rank's residual, changes it, and loads it. Returns "" if the old values are back.
  virtual std::string save_and_load(int rank, const std::string& path) = 0;

  // For ranks that go on when others are gone.

  /// Saves rank's residual, and changes all signs in it.
  virtual void save_and_negate(int rank, const std::string& path) = 0;
  /// Loads a file that rank `dead` of `ranks` saved with save_and_negate() after `calls` calls.
  /// Returns "" if it is whole, or if there is none.
  virtual std::string check_file(const std::string& path, int dead, int ranks,
                                 size_t calls) const = 0;
  /// Moves the residuals to a communicator that a shrink has made.
  virtual sparsecollResult_t move(sparsecollComm_t comm) = 0;
  /// Forgets all states except that after `calls` calls, and all ranks except `kept`, which get
  /// numbers in this order.
  virtual void keep(size_t calls, const std::vector<size_t>& kept) = 0;
};

template <class T>
class TypedTensor final : public Tensor {
 public:
  using Values = oracle::PerRank<std::vector<oracle::Wide<T>>>;

  /// Without `feedback` the calls get no residual.
  TypedTensor(size_t n, bool feedback, const Values& first) : n_(n), feedback_(feedback) {
    states_.push_back(feedback ? first : Values{});
  }

  size_t n() const { return n_; }
  bool has_feedback() const { return feedback_; }
  /// The residuals before the call that is being planned.
  const Values& before() const { return states_[states_.size() - 2]; }
  /// Sets the residuals after that call. Without this they do not change.
  void set_after(const Values& after) {
    if (feedback_) states_.back() = after;
  }
  sparsecollResidual_t handle(int rank) const {
    return feedback_ ? residuals_[static_cast<size_t>(rank)].handle() : nullptr;
  }

  void create(const std::vector<sparsecollComm_t>& comms) override {
    if (!feedback_) return;
    for (size_t r = 0; r < comms.size(); ++r) {
      residuals_.emplace_back(comms[r], n_, comms[r] != nullptr);
      if (comms[r]) residuals_[r].write(states_[0][r]);
    }
  }
  void begin_call() override { states_.push_back(states_.back()); }
  std::string difference(int rank, size_t calls) const override {
    if (!feedback_) return "";
    const auto r = static_cast<size_t>(rank);
    return test::difference("residual", residuals_[r].read(), states_[calls][r]);
  }

  std::string save_and_load(int rank, const std::string& path) override {
    if (!feedback_) return "";
    test::Residual<T>& residual = residuals_[static_cast<size_t>(rank)];
    const auto before = residual.read();
    sparsecollResult_t result = sparsecollResidualSave(residual.handle(), path.c_str());
    if (result != sparsecollSuccess) return sparsecollGetErrorString(result);
    residual.write(std::vector<oracle::Wide<T>>(n_, oracle::Wide<T>{-5}));
    result = sparsecollResidualLoad(residual.handle(), path.c_str());
    if (result != sparsecollSuccess) return sparsecollGetErrorString(result);
    return test::difference("residual", residual.read(), before);
  }

  void save_and_negate(int rank, const std::string& path) override {
    if (!feedback_) return;
    sparsecollResidualSave(handle(rank), path.c_str());
    sparsecollResidualScale(handle(rank), -1);
  }

  std::string check_file(const std::string& path, int dead, int ranks,
                         size_t calls) const override {
    if (!feedback_ || !std::filesystem::exists(path)) return "";
    const test::Ranks same(ranks, test::default_config());  // only this rank may load the file
    const test::Residual<T> loaded(same.comm(dead), n_);
    const sparsecollResult_t result = sparsecollResidualLoad(loaded.handle(), path.c_str());
    if (result != sparsecollSuccess) return test::explain(result, same.comm(dead));
    std::vector<oracle::Wide<T>> want = states_[calls][static_cast<size_t>(dead)];
    const std::string wrong = test::difference("residual", loaded.read(), want);
    for (auto& value : want) value = oracle::Arithmetic<oracle::Wide<T>>::canonical(-value);
    return wrong.empty() || test::difference("", loaded.read(), want).empty() ? "" : wrong;
  }

  sparsecollResult_t move(sparsecollComm_t comm) override {
    for (const auto& residual : residuals_) {
      if (!residual.handle()) continue;
      const sparsecollResult_t result = sparsecollResidualMove(residual.handle(), comm);
      if (result != sparsecollSuccess) return result;
    }
    return sparsecollSuccess;
  }

  void keep(size_t calls, const std::vector<size_t>& kept) override {
    if (!feedback_) return states_.resize(1);
    Values values;
    std::vector<test::Residual<T>> residuals;
    for (const size_t rank : kept) {
      values.push_back(states_[calls][rank]);
      residuals.push_back(std::move(residuals_[rank]));
    }
    states_.assign(1, values);
    residuals_.swap(residuals);
  }

 private:
  size_t n_;
  bool feedback_;
  std::vector<Values> states_;  ///< after 0, 1, ... calls
  std::vector<test::Residual<T>> residuals_;
};

}  // namespace sparsecoll::fault
