#include "framework/artifacts/match_weights.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

namespace tenon::artifacts {
namespace {

TensorView view(const std::string& name, std::vector<int64_t> shape = {2}, int32_t dtype = TENON_FLOAT32) {
  return {name, dtype, std::move(shape), nullptr, 0};
}

WantedTensor want(const std::string& name, size_t place, std::vector<int64_t> shape = {2},
                  int32_t dtype = TENON_FLOAT32) {
  return {name, dtype, std::move(shape), place};
}

}  // namespace

TEST_CASE("equal names match, in any order") {
  const std::vector<TensorView> stored{view("b"), view("a")};
  const std::vector<WantedTensor> wanted{want("a", 0), want("b", 1)};
  const MatchedWeights matched = match_weights(stored, wanted);
  CHECK(matched.is_complete());
  CHECK(matched.matches[0].stored == &stored[1]);
  CHECK(matched.matches[1].stored == &stored[0]);
}

TEST_CASE("prefixes of PyTorch wrappers are removed, also nested ones") {
  for (const char* prefix : {"module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod.", "module.module."}) {
    CAPTURE(prefix);
    const std::vector<TensorView> stored{view(std::string(prefix) + "a.weight"), view(std::string(prefix) + "a.bias")};
    const std::vector<WantedTensor> wanted{want("a.weight", 0), want("a.bias", 1)};
    const MatchedWeights matched = match_weights(stored, wanted);
    CHECK(matched.is_complete());
    CHECK(matched.matches[1].stored == &stored[1]);
  }
  for (const char* name : {"model.a", "Module.a", "x.module.a", "modulea", "module."}) {
    CAPTURE(name);
    const std::vector<TensorView> stored{view(name)};
    const std::vector<WantedTensor> wanted{want("a", 0)};
    CHECK(match_weights(stored, wanted).unexpected.size() == 1);
  }
}

TEST_CASE("names of a model may start like such a prefix") {
  const std::vector<TensorView> stored{view("module.a"), view("a"), view("module.module.b")};
  const std::vector<WantedTensor> wanted{want("module.a", 0), want("a", 1), want("module.b", 2)};
  const MatchedWeights matched = match_weights(stored, wanted);
  CHECK(matched.is_complete());
  for (size_t i = 0; i < 3; ++i) CHECK(matched.matches[i].stored == &stored[i]);
}

TEST_CASE("of two names for one tensor the exact one is used, and the other is unexpected") {
  const std::vector<TensorView> stored{view("module.a"), view("a"), view("module.b"), view("_orig_mod.b")};
  const std::vector<WantedTensor> wanted{want("a", 0), want("b", 1)};
  const MatchedWeights matched = match_weights(stored, wanted);
  CHECK(matched.matches[0].stored == &stored[1]);
  CHECK(matched.matches[1].stored == &stored[2]);
  CHECK(matched.unexpected == std::vector<const TensorView*>{&stored[0], &stored[3]});
  CHECK_FALSE(matched.is_complete());
}

TEST_CASE("floating dtypes are converted, integers are not") {
  const auto fate = [](int32_t stored, int32_t wanted) {
    const std::vector<TensorView> views{view("a", {2}, stored)};
    const std::vector<WantedTensor> tensors{want("a", 0, {2}, wanted)};
    return match_weights(views, tensors).matches[0].fate;
  };
  constexpr int32_t kFloating[] = {TENON_FLOAT64, TENON_FLOAT32, TENON_FLOAT16, TENON_BFLOAT16};
  constexpr int32_t kOthers[] = {TENON_INT64, TENON_INT32, TENON_INT16, TENON_INT8, TENON_UINT8, TENON_BOOL};
  for (const int32_t from : kFloating) {
    for (const int32_t to : kFloating) CHECK(fate(from, to) == WeightFate::loaded);
    for (const int32_t to : kOthers) {
      CHECK(fate(from, to) == WeightFate::other_dtype);
      CHECK(fate(to, from) == WeightFate::other_dtype);
    }
  }
  for (const int32_t from : kOthers)
    for (const int32_t to : kOthers) CHECK((fate(from, to) == WeightFate::loaded) == (from == to));
}

TEST_CASE("the result of each tensor is reported, and unexpected tensors of the file") {
  const std::vector<TensorView> stored{view("a"), view("b", {3}), view("d"), view("e", {})};
  const std::vector<WantedTensor> wanted{want("a", 0), want("b", 1), want("c", 2), want("e", 3, {1})};
  const MatchedWeights matched = match_weights(stored, wanted);
  CHECK(matched.matches[0].fate == WeightFate::loaded);
  CHECK(matched.matches[1].fate == WeightFate::other_shape);
  CHECK(matched.matches[2].fate == WeightFate::missing);
  CHECK(matched.matches[3].fate == WeightFate::other_shape);
  CHECK(matched.unexpected == std::vector<const TensorView*>{&stored[2]});
  CHECK(matched.count(WeightFate::other_shape) == 2);
  CHECK_FALSE(matched.is_complete());
}

TEST_CASE("a tensor with two names may be in the file under either of them") {
  for (const char* name : {"embedding.weight", "head.weight"}) {
    CAPTURE(name);
    const std::vector<TensorView> stored{view(name), view("bias")};
    const std::vector<WantedTensor> wanted{want("embedding.weight", 0), want("bias", 1), want("head.weight", 0)};
    const MatchedWeights matched = match_weights(stored, wanted);
    CHECK(matched.is_complete());
    CHECK(matched.count(WeightFate::other_name) == 1);
  }
  const std::vector<TensorView> stored{view("bias")};
  const std::vector<WantedTensor> wanted{want("embedding.weight", 0), want("bias", 1), want("head.weight", 0)};
  CHECK(match_weights(stored, wanted).count(WeightFate::missing) == 2);
}

TEST_CASE("batch norms of older files have no counter, and missing counters of other modules are errors") {
  const auto fate = [](const std::vector<TensorView>& stored, const WantedTensor& counter) {
    const std::vector<WantedTensor> wanted{want("bn.running_mean", 0), counter};
    return match_weights(stored, wanted).matches[1].fate;
  };
  const WantedTensor counter = want("bn.num_batches_tracked", 1, {}, TENON_INT64);
  CHECK(fate({view("bn.running_mean")}, counter) == WeightFate::older_batch);
  CHECK(fate({view("module.bn.running_mean")}, counter) == WeightFate::older_batch);
  CHECK(fate({view("x")}, counter) == WeightFate::missing);
  CHECK(fate({view("bn.running_mean")}, want("other.num_batches_tracked", 1, {}, TENON_INT64)) == WeightFate::missing);
  CHECK(fate({view("bn.running_mean")}, want("bn.num_batches_tracked", 1)) == WeightFate::missing);
}

}  // namespace tenon::artifacts
