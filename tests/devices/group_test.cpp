// SPDX-FileCopyrightText: 2026 The sparsecoll authors
// SPDX-License-Identifier: Apache-2.0

// Groups of calls with memory of a device, of the host, and both; on one stream and on several.

#include "devices/places.hpp"
#include "support/catch.hpp"
#include "support/data.hpp"

namespace sparsecoll::devices {
namespace {

struct Shape {
  test::Verb verb;
  std::size_t n;
  std::size_t k;
  bool feedback;
};
constexpr Shape kShapes[] = {{test::Verb::kSparse, 700, 30, true},
                             {test::Verb::kGtopk, 300, 9, true},
                             {test::Verb::kSparse, 0, 5, false},
                             {test::Verb::kSparse, 700, 30, true},
                             {test::Verb::kGtopk, 64, 100, false}};

enum class Streams { one, several };

template <class T>
struct Group {
  Streams streams;
  bool mixed;  ///< every second tensor stays on the host

  template <class Place>
  void operator()(Place, const Scene& scene) const {
    using Array = typename Place::template Array<T>;
    const typename Place::Stream stream[2];
    std::vector<Array> there;
    std::vector<HostArray<T>> here;
    std::vector<test::Residual<T>> residuals;
    for (const Shape& shape : kShapes) {
      there.emplace_back(shape.n);
      here.emplace_back(shape.n);
      residuals.emplace_back(scene.comm, shape.n, shape.feedback);
    }
    for (std::uint64_t round = 0; round < 3; ++round) {
      scene.expect(sparsecollGroupStart(scene.comm));
      for (std::size_t t = 0; t < std::size(kShapes); ++t) {
        const Shape& shape = kShapes[t];
        const bool stays = mixed && t % 2 == 1;
        const cudaStream_t own = stream[streams == Streams::several ? t % 2 : 0];
        const cudaStream_t on = stays ? nullptr : own;
        const auto data = test::make_data<T>(test::Kind::kHeavyTail, shape.n, scene.rank, scene.P,
                                             10 * round + t);
        stays ? here[t].put(data) : there[t].put(data, on);
        T* const x = stays ? here[t].get() : there[t].get();
        const auto verb = shape.verb == test::Verb::kGtopk ? gtopkAllreduce : sparseAllreduce;
        scene.expect(verb(x, x, shape.n, shape.k, test::kDatatype<T>, sparsecollSum,
                          residuals[t].handle(), scene.comm, on));
      }
      scene.done(sparsecollGroupEnd(scene.comm));
      for (std::size_t t = 0; t < std::size(kShapes); ++t) {
        const cudaStream_t on = stream[streams == Streams::several ? t % 2 : 0];
        scene.record.add(mixed && t % 2 == 1 ? here[t].read() : there[t].read(on));
        if (kShapes[t].feedback) scene.record.add(residuals[t].read());
      }
    }
  }
};

TEST_CASE("groups on devices give what they give on the host") {
  for (const int P : {1, 2, 3, 5, 8}) {
    CAPTURE(P);
    const auto config = test::default_config();
    CHECK(compare_places(config, P, Group<float>{Streams::one, false}) == "");
    CHECK(compare_places(config, P, Group<float>{Streams::several, false}) == "");
    // NCCL takes no host tensors.
    CHECK(compare_places(config, P, Group<oracle::Bfloat16>{Streams::several, !over_nccl()}) == "");
  }
}

}  // namespace
}  // namespace sparsecoll::devices
