// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0
#include "common/vectors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "common/half.hpp"

namespace sparsecoll::perf {
namespace {

static_assert(std::endian::native == std::endian::little, "--data reads little-endian files");

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

template <class T>
class GeneratedVectors final : public Vectors<T> {
 public:
  GeneratedVectors(std::size_t n, int ranks, const Options& options)
      : n_(n),
        seed_(mix(options.seed)),
        cap_(static_cast<double>(std::max(exact_integers<T>() / std::max(ranks, 1), 1))),
        common_below_(static_cast<std::uint32_t>(options.overlap * 65536.0)),
        rest_density_(16.0 / (15.0 + options.skew)),
        first_density_(rest_density_ * options.skew) {}

  std::size_t count() const override { return n_; }
  bool exact() const override { return true; }

  void fill(int rank, std::size_t first, std::span<T> out) const override {
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = at(rank, first + j);
  }

 private:
  T at(int rank, std::size_t i) const {
    const std::uint64_t shared = mix(seed_ + i * kGolden);
    const std::uint64_t own = mix(shared + static_cast<std::uint64_t>(rank) + 1);
    const bool common = (shared & 0xFFFF) < common_below_;
    const std::uint64_t draw = common ? shared : own;
    // Uniform in (0, 1]. The division by the local density gives large values the wanted frequency.
    const double u = (static_cast<double>(draw >> 32) + 1.0) * 0x1p-32 /
                     (i < n_ / 16 ? first_density_ : rest_density_);
    const double root = std::sqrt(u);
    const double magnitude = std::clamp(std::floor(4.0 / (root * std::sqrt(root))), 1.0, cap_);
    bool negative = (draw >> 16 & 1) != 0;
    if (common && (own & 7) == 0) negative = !negative;
    return T(static_cast<Wide<T>>(negative ? -magnitude : magnitude));
  }

  std::size_t n_;
  std::uint64_t seed_;
  double cap_;  ///< the sum of P values up to this one is exact in float32 or a 16-bit T
  std::uint32_t common_below_;
  double rest_density_;
  double first_density_;
};

std::string name_for_rank(const std::string& name, int rank) {
  const std::size_t at = name.find("%r");
  return at == std::string::npos ? name
                                 : name.substr(0, at) + std::to_string(rank) + name.substr(at + 2);
}

std::ifstream open_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw std::runtime_error("--data: cannot read " + name);
  return file;
}

template <class T>
class VectorsOfFile final : public Vectors<T> {
 public:
  VectorsOfFile(const std::string& name, int rank) : name_(name) {
    const std::string mine = name_for_rank(name, rank);
    std::ifstream file = open_file(mine);
    file.seekg(0, std::ios::end);
    const auto bytes = static_cast<std::size_t>(file.tellg());
    if (bytes == 0 || bytes % sizeof(float) != 0) {
      throw std::runtime_error("--data: " + mine + " is not a file of float32 values: " +
                               std::to_string(bytes) + " bytes");
    }
    n_ = bytes / sizeof(float);
  }

  std::size_t count() const override { return n_; }
  bool exact() const override { return false; }

  void fill(int rank, std::size_t first, std::span<T> out) const override {
    const std::string name = name_for_rank(name_, rank);
    std::ifstream file = open_file(name);
    std::vector<float> raw(out.size());
    file.seekg(static_cast<std::streamoff>(first * sizeof(float)));
    file.read(reinterpret_cast<char*>(raw.data()),
              static_cast<std::streamsize>(raw.size() * sizeof(float)));
    if (!file) throw std::runtime_error("--data: " + name + " ended early");
    for (std::size_t j = 0; j < raw.size(); ++j) {
      if (!std::isfinite(raw[j])) {
        throw std::runtime_error("--data: " + name + " holds a value that is not finite, at " +
                                 std::to_string(first + j));
      }
      out[j] = T(raw[j]);
    }
  }

 private:
  std::string name_;
  std::size_t n_ = 0;
};

}  // namespace

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

template <class T>
std::unique_ptr<Vectors<T>> generated_vectors(std::size_t n, int ranks, const Options& options) {
  return std::make_unique<GeneratedVectors<T>>(n, ranks, options);
}

template <class T>
std::unique_ptr<Vectors<T>> vectors_of_file(const std::string& name, int rank) {
  return std::make_unique<VectorsOfFile<T>>(name, rank);
}

template std::unique_ptr<Vectors<float>> generated_vectors(std::size_t, int, const Options&);
template std::unique_ptr<Vectors<double>> generated_vectors(std::size_t, int, const Options&);
template std::unique_ptr<Vectors<Float16>> generated_vectors(std::size_t, int, const Options&);
template std::unique_ptr<Vectors<Bfloat16>> generated_vectors(std::size_t, int, const Options&);
template std::unique_ptr<Vectors<float>> vectors_of_file(const std::string&, int);
template std::unique_ptr<Vectors<double>> vectors_of_file(const std::string&, int);
template std::unique_ptr<Vectors<Float16>> vectors_of_file(const std::string&, int);
template std::unique_ptr<Vectors<Bfloat16>> vectors_of_file(const std::string&, int);

}  // namespace sparsecoll::perf
