// In float64 a run of several ranks ends with the weights of one process that has the same batches, however the model
// is divided.
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/ranks/run_ranks.h"

namespace exact_split_test {

using namespace tenon::pipeline;
using tenon::distributed::ProcessGroup;
using tenon::distributed::run_connected;

namespace {

// A setting of each kind: shard, optimizer, train.accumulate, train.activation_checkpointing.
using Combination = std::array<std::string, 4>;

const std::vector<std::vector<std::string>> kChoices{
    {"none", "optimizer", "gradients", "parameters"},
    {"{use=\"adamw\",lr=0.003,weight_decay=0.1}", "{use=\"sgd\",lr=0.05,momentum=0.9}", "{use=\"muon\",lr=0.003}"},
    {"1", "3"},
    {"false", "true"}};

using Weights = std::map<std::string, std::vector<double>>;

// Trains 100 steps of 12 samples, in batches of 12 / accumulate samples over all ranks, and returns the weights.
Weights train(int64_t size, const Combination& combination) {
  const int64_t accumulate = std::stoll(combination[2]);
  // 432 samples are 36 steps. A step with fewer samples would multiply its gradients by a factor in float32.
  const Setup setup{{"model={use=\"doubles\"}", "train={steps=100}", "data.workers=0", "data.train.subset=\"30.0765%\"",
                     "validation.every=\"never\"", "checkpoint.every=\"never\"",
                     "data.batch_size=" + std::to_string(12 / accumulate / size),
                     "distributed.shard=\"" + combination[0] + "\"", "optimizer=" + combination[1],
                     "train.accumulate=" + combination[2], "train.activation_checkpointing=" + combination[3]},
                    ""};
  const auto texts = run_connected(size, [&](ProcessGroup& group) {
    BuiltRun run(setup, group);
    run.train();
    std::ostringstream text;
    text.precision(17);
    for (const auto& one : run.recorder.checkpoints.back().model) {
      REQUIRE(one.tensor.scalar_type() == at::kDouble);
      text << one.name << " " << one.tensor.numel();
      for (int64_t i = 0; i < one.tensor.numel(); ++i) text << " " << one.tensor.const_data_ptr<double>()[i];
      text << "\n";
    }
    return text.str();
  });
  Weights weights;
  for (const std::string& text : texts) {
    std::istringstream stream(text);
    std::string name;
    for (size_t count = 0; stream >> name >> count;) {
      std::vector<double>& values = weights[name] = std::vector<double>(count);
      for (double& value : values) stream >> value;
    }
  }
  return weights;
}

// The largest difference of a weight, relative to the largest weight of its tensor.
double compare(const Weights& a, const Weights& b) {
  REQUIRE(a.size() == 8);
  REQUIRE(b.size() == a.size());
  double largest = 0;
  for (const auto& [name, values] : a) {
    const std::vector<double>& others = b.at(name);
    REQUIRE(values.size() == others.size());
    double scale = 0, difference = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      scale = std::max(scale, std::abs(values[i]));
      difference = std::max(difference, std::abs(values[i] - others[i]));
    }
    largest = std::max(largest, difference / scale);
  }
  return largest;
}

void check(int64_t size, const Combination& combination) {
  CAPTURE(size);
  std::string description;
  for (const std::string& one : combination) description += one + " ";
  CAPTURE(description);
  Combination whole = combination;
  whole[0] = "none";
  static std::map<Combination, Weights> known;
  if (!known.contains(whole)) known[whole] = train(1, whole);
  CHECK(compare(train(size, combination), known.at(whole)) <= 1e-10);
}

}  // namespace

TEST_CASE("each two settings of a divided run occur together once") {
  // An orthogonal choice: for every pair of shard and another setting there is a row.
  int64_t number = 0;
  for (const std::string& shard : kChoices[0])
    for (const std::string& optimizer : kChoices[1]) {
      const int64_t size = 2 + number % 3;
      // 12 / 3 samples cannot be divided by three ranks.
      const bool accumulates = size != 3 && number % 2 == 0;
      check(size, {shard, optimizer, accumulates ? "3" : "1", (number / 2) % 2 == 0 ? "false" : "true"});
      ++number;
    }
}

TEST_CASE("all settings of a divided run occur together" * doctest::test_suite("soak") * doctest::skip()) {
  for (const int64_t size : {2, 3, 4})
    for (const std::string& shard : kChoices[0])
      for (const std::string& optimizer : kChoices[1])
        for (const std::string& accumulate : kChoices[2])
          for (const std::string& checkpoints : kChoices[3])
            if (size != 3 || accumulate == "1") check(size, {shard, optimizer, accumulate, checkpoints});
}

}  // namespace exact_split_test
