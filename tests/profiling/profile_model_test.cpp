#include "framework/profiling/profile_model.h"

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using namespace tenon::profiling;

namespace {

// 64 -> 16 -> 10 on digits.
ModelProfile profile_mlp(const std::vector<std::string>& overrides) {
  BuiltRun run({overrides});
  return profile_model(*run.training, 2);
}

}  // namespace

TEST_CASE("the cost of linear layers follows from their sizes") {
  const ModelProfile profile = profile_mlp({"data.batch_size=5", "optimizer={use=\"adamw\", lr=0.001}"});
  CHECK(profile.batch_size == 5);
  REQUIRE(profile.inputs.size() == 1);
  CHECK(profile.inputs[0].first == "image");
  CHECK(profile.inputs[0].second == std::vector<int64_t>{5, 1, 8, 8});
  CHECK(profile.total.parameters == 64 * 16 + 16 + 16 * 10 + 10);
  CHECK(profile.total.bytes == 4 * profile.total.parameters);
  CHECK(profile.total.macs == 5 * (64 * 16 + 16 * 10));
  // The input of the first layer has no gradient.
  CHECK(profile.step_macs == 5 * (2 * 64 * 16 + 3 * 16 * 10));
  CHECK(profile.uncounted.empty());
}

TEST_CASE("the costs of the modules add up to the total") {
  const ModelProfile profile = profile_mlp({"data.batch_size=5"});
  ModuleProfile sum;
  for (const ModuleProfile& module : profile.modules) {
    sum.parameters += module.parameters;
    sum.bytes += module.bytes;
    sum.macs += module.macs;
  }
  CHECK(sum.parameters == profile.total.parameters);
  CHECK(sum.bytes == profile.total.bytes);
  CHECK(sum.macs == profile.total.macs);
  const auto layers_with_macs = std::count_if(profile.modules.begin(), profile.modules.end(),
                                              [](const ModuleProfile& module) { return module.macs > 0; });
  CHECK(layers_with_macs == 2);
}

TEST_CASE("the memory between steps is the optimizer state") {
  const std::string small = "data.batch_size=5";
  const int64_t weights = profile_mlp({small}).total.bytes;
  const int64_t plain = profile_mlp({small, "optimizer={use=\"sgd\", lr=0.1}"}).state_bytes;
  const int64_t momentum = profile_mlp({small, "optimizer={use=\"sgd\", lr=0.1, momentum=0.9}"}).state_bytes;
  CHECK(momentum - plain >= weights);
  CHECK(momentum - plain < weights + 4096);
}

TEST_CASE("the memory kept for backward grows with the batch") {
  const ModelProfile small = profile_mlp({"data.batch_size=100"});
  const ModelProfile large = profile_mlp({"data.batch_size=300"});
  CHECK(large.saved_for_backward > 2 * small.saved_for_backward);
  CHECK(large.step_peak_bytes > large.saved_for_backward);
  CHECK(large.evaluation_peak_bytes < large.step_peak_bytes);
  CHECK(large.evaluation_peak_bytes > 0);
}

TEST_CASE("modules are grouped by the first parts of their names") {
  const std::vector<ModuleProfile> modules{
      {"", 1, 1, 1, 0}, {"a.0.x", 1, 2, 3, 1}, {"a.0.y", 10, 20, 30, 1}, {"ab", 5, 5, 5, 1}};
  const auto groups = group_modules(modules, 1);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].name == "");
  CHECK(groups[1].name == "a");
  CHECK(groups[1].parameters == 11);
  CHECK(groups[1].bytes == 22);
  CHECK(groups[1].macs == 33);
  CHECK(groups[1].seconds == 2);
  CHECK(groups[2].name == "ab");
  CHECK(group_modules(modules, 2)[1].name == "a.0");
  CHECK(group_modules(modules, 9).size() == 4);
}
