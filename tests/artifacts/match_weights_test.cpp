#include "framework/artifacts/checkpoint/match_weights.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

namespace tenon::artifacts {
namespace {

TensorView view(const std::string& name, std::vector<int64_t> shape = {2}, int32_t dtype = TENON_FLOAT32) {
  return {name, dtype, std::move(shape), nullptr, 0};
}

ExpectedTensor make_expected(const std::string& name, size_t place, std::vector<int64_t> shape = {2},
                             int32_t dtype = TENON_FLOAT32) {
  return {name, dtype, std::move(shape), place};
}

}  // namespace

TEST_CASE("equal names match, in any order") {
  const std::vector<TensorView> stored{view("b"), view("a")};
  const std::vector<ExpectedTensor> expected{make_expected("a", 0), make_expected("b", 1)};
  const MatchedWeights matched = match_weights(stored, expected);
  CHECK(matched.is_complete());
  CHECK(matched.matches[0].stored == &stored[1]);
  CHECK(matched.matches[1].stored == &stored[0]);
}

TEST_CASE("prefixes of PyTorch wrappers are removed, also nested ones") {
  for (const char* prefix : {"module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod.", "module.module."}) {
    CAPTURE(prefix);
    const std::vector<TensorView> stored{view(std::string(prefix) + "a.weight"), view(std::string(prefix) + "a.bias")};
    const std::vector<ExpectedTensor> expected{make_expected("a.weight", 0), make_expected("a.bias", 1)};
    const MatchedWeights matched = match_weights(stored, expected);
    CHECK(matched.is_complete());
    CHECK(matched.matches[1].stored == &stored[1]);
  }
  for (const char* name : {"model.a", "Module.a", "x.module.a", "modulea", "module."}) {
    CAPTURE(name);
    const std::vector<TensorView> stored{view(name)};
    const std::vector<ExpectedTensor> expected{make_expected("a", 0)};
    CHECK(match_weights(stored, expected).unexpected.size() == 1);
  }
}

TEST_CASE("names of a model may start like such a prefix") {
  const std::vector<TensorView> stored{view("module.a"), view("a"), view("module.module.b")};
  const std::vector<ExpectedTensor> expected{make_expected("module.a", 0), make_expected("a", 1),
                                             make_expected("module.b", 2)};
  const MatchedWeights matched = match_weights(stored, expected);
  CHECK(matched.is_complete());
  for (size_t i = 0; i < 3; ++i) CHECK(matched.matches[i].stored == &stored[i]);
}

TEST_CASE("of two names for one tensor the exact one is used, and the other is unexpected") {
  const std::vector<TensorView> stored{view("module.a"), view("a"), view("module.b"), view("_orig_mod.b")};
  const std::vector<ExpectedTensor> expected{make_expected("a", 0), make_expected("b", 1)};
  const MatchedWeights matched = match_weights(stored, expected);
  CHECK(matched.matches[0].stored == &stored[1]);
  CHECK(matched.matches[1].stored == &stored[2]);
  CHECK(matched.unexpected == std::vector<const TensorView*>{&stored[0], &stored[3]});
  CHECK_FALSE(matched.is_complete());
}

TEST_CASE("floating dtypes are converted, integers are not") {
  const auto status = [](int32_t stored, int32_t expected) {
    const std::vector<TensorView> views{view("a", {2}, stored)};
    const std::vector<ExpectedTensor> tensors{make_expected("a", 0, {2}, expected)};
    return match_weights(views, tensors).matches[0].status;
  };
  constexpr int32_t kFloating[] = {TENON_FLOAT64, TENON_FLOAT32, TENON_FLOAT16, TENON_BFLOAT16};
  constexpr int32_t kOthers[] = {TENON_INT64, TENON_INT32, TENON_INT16, TENON_INT8, TENON_UINT8, TENON_BOOL};
  for (const int32_t from : kFloating) {
    for (const int32_t to : kFloating) CHECK(status(from, to) == WeightStatus::loaded);
    for (const int32_t to : kOthers) {
      CHECK(status(from, to) == WeightStatus::other_dtype);
      CHECK(status(to, from) == WeightStatus::other_dtype);
    }
  }
  for (const int32_t from : kOthers)
    for (const int32_t to : kOthers) CHECK((status(from, to) == WeightStatus::loaded) == (from == to));
}

TEST_CASE("the result of each tensor is reported, and unexpected tensors of the file") {
  const std::vector<TensorView> stored{view("a"), view("b", {3}), view("d"), view("e", {})};
  const std::vector<ExpectedTensor> expected{make_expected("a", 0), make_expected("b", 1), make_expected("c", 2),
                                             make_expected("e", 3, {1})};
  const MatchedWeights matched = match_weights(stored, expected);
  CHECK(matched.matches[0].status == WeightStatus::loaded);
  CHECK(matched.matches[1].status == WeightStatus::other_shape);
  CHECK(matched.matches[2].status == WeightStatus::missing);
  CHECK(matched.matches[3].status == WeightStatus::other_shape);
  CHECK(matched.unexpected == std::vector<const TensorView*>{&stored[2]});
  CHECK(matched.count(WeightStatus::other_shape) == 2);
  CHECK_FALSE(matched.is_complete());
}

TEST_CASE("a tensor with two names may be in the file under either of them") {
  for (const char* name : {"embedding.weight", "head.weight"}) {
    CAPTURE(name);
    const std::vector<TensorView> stored{view(name), view("bias")};
    const std::vector<ExpectedTensor> expected{make_expected("embedding.weight", 0), make_expected("bias", 1),
                                               make_expected("head.weight", 0)};
    const MatchedWeights matched = match_weights(stored, expected);
    CHECK(matched.is_complete());
    CHECK(matched.count() == 2);
    CHECK(matched.count(WeightStatus::loaded) == 2);
  }
  const std::vector<TensorView> stored{view("bias")};
  const std::vector<ExpectedTensor> expected{make_expected("embedding.weight", 0), make_expected("bias", 1),
                                             make_expected("head.weight", 0)};
  const MatchedWeights matched = match_weights(stored, expected);
  CHECK(matched.count(WeightStatus::missing) == 1);
  CHECK(matched.matches[0].expected == 0);
}

TEST_CASE("a tensor of another shape under a further name is not missing under its first") {
  const std::vector<TensorView> stored{view("bn1.running_mean"), view("head.weight", {3})};
  const std::vector<ExpectedTensor> expected{make_expected("features.mean", 0),
                                             make_expected("features.num_batches_tracked", 1, {}, TENON_INT64),
                                             make_expected("classifier.weight", 2),
                                             make_expected("bn1.running_mean", 0),
                                             make_expected("bn1.num_batches_tracked", 1, {}, TENON_INT64),
                                             make_expected("head.weight", 2)};
  const MatchedWeights matched = match_weights(stored, expected);
  CHECK(matched.count() == 3);
  CHECK(matched.count(WeightStatus::loaded) == 1);
  CHECK(matched.count(WeightStatus::older_batch) == 1);
  CHECK(matched.count(WeightStatus::other_shape) == 1);
  CHECK(matched.count(WeightStatus::missing) == 0);
}

TEST_CASE("batch norms of older files have no counter, and missing counters of other modules are errors") {
  const auto status = [](const std::vector<TensorView>& stored, const ExpectedTensor& counter) {
    const std::vector<ExpectedTensor> expected{make_expected("bn.running_mean", 0), counter};
    return match_weights(stored, expected).matches[1].status;
  };
  const ExpectedTensor counter = make_expected("bn.num_batches_tracked", 1, {}, TENON_INT64);
  CHECK(status({view("bn.running_mean")}, counter) == WeightStatus::older_batch);
  CHECK(status({view("module.bn.running_mean")}, counter) == WeightStatus::older_batch);
  CHECK(status({view("x")}, counter) == WeightStatus::missing);
  CHECK(status({view("bn.running_mean")}, make_expected("other.num_batches_tracked", 1, {}, TENON_INT64)) ==
        WeightStatus::missing);
  CHECK(status({view("bn.running_mean")}, make_expected("bn.num_batches_tracked", 1)) == WeightStatus::missing);
}

}  // namespace tenon::artifacts
