// Tests activation checkpointing on several ranks: the reducer handles the gradients of segments like any others.
#include <sstream>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/ranks/run_ranks.h"

namespace checkpointing_ranks_test {

using namespace tenon::pipeline;
using tenon::distributed::ProcessGroup;
using tenon::distributed::run_in_group;

namespace {

// Returns digests of the final weights of each rank by name. They are not recorded but must be equal on all ranks.
std::vector<std::string> train(const std::vector<std::string>& overrides, bool checkpointing) {
  return run_in_group(2, {}, [&](ProcessGroup& group) {
    Setup setup{{"model={use=\"segmented\"}", "run.deterministic=true", "data.workers=0", "data.batch_size=50",
                 "validation.every=\"never\"", "train={steps=4}",
                 std::string("train.activation_checkpointing=") + (checkpointing ? "true" : "false")}};
    setup.overrides.insert(setup.overrides.end(), overrides.begin(), overrides.end());
    BuiltRun run(setup, group);
    run.train();
    std::ostringstream text;
    for (const auto& [name, tensor] : run.recorder.weights)
      text << name << " " << tenon::distributed::digest(tensor) << "\n";
    return text.str();
  });
}

void check_same(const std::vector<std::string>& overrides) {
  const auto plain = train(overrides, false);
  const auto again = train(overrides, true);
  CHECK(plain[0].find("threw") == std::string::npos);
  CHECK(plain[0].size() > 64);
  CHECK(plain[1] == plain[0]);
  CHECK(again == plain);
}

}  // namespace

TEST_CASE("checkpointed segments give the same gradients on two ranks") {
  check_same({});
  check_same({"train.accumulate=2"});
  check_same({"train.precision=\"bf16\""});
  check_same({"train.precision=\"fp16\""});
}

TEST_CASE("checkpointed segments work with batch normalisation over both ranks and with find_unused_parameters") {
  check_same({"distributed.synchronize_batch_norm=true"});
  check_same({"distributed.find_unused_parameters=true"});
  check_same({"distributed.static_graph=true"});
}

}  // namespace checkpointing_ranks_test
