// Writes checkpoints on a separate thread while this one trains. scripts/sanitize collectives runs it with
// ThreadSanitizer, which sees the elements that this file reads and writes, but not those that LibTorch does.
#include "host/training/checkpoint_writer.h"

#include <torch/types.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/test_folder.h"

namespace tenon::host {
namespace {

constexpr int64_t kElements = 10000;

struct TrainedModel {
  at::Tensor weight = torch::zeros({kElements}), momentum = torch::zeros({kElements});

  // Changes all elements, as a training step does.
  void train(float value) {
    std::ranges::fill(std::span(weight.data_ptr<float>(), kElements), value);
    std::ranges::fill(std::span(momentum.data_ptr<float>(), kElements), -value);
  }
};

void save(CheckpointWriter& writer, const TrainedModel& model, int64_t step) {
  const std::vector<components::NamedTensor> tensors = {{"weight", model.weight, true}};
  pipeline::SavedState state;
  state.numbers["step"] = static_cast<double>(step);
  state.tensors["momentum"] = model.momentum;
  artifacts::CheckpointContents contents{1, step, {}, {}};
  contents.state = state.numbers;
  writer.save(std::move(contents), tensors, state);
}

// All elements must be equal. Returns them.
float read_value(const std::filesystem::path& file) {
  const artifacts::SafetensorsFile stored(file);
  REQUIRE(stored.tensors().size() == 1);
  const auto& tensor = stored.tensors()[0];
  REQUIRE(tensor.bytes == kElements * sizeof(float));
  const std::span values(reinterpret_cast<const float*>(tensor.data), kElements);
  CHECK(std::ranges::all_of(values, [&](float value) { return value == values[0]; }));
  return values[0];
}

}  // namespace

TEST_CASE("an asynchronous checkpoint has the values of its step, although training changes them") {
  const std::filesystem::path folder = test_folder() / "checkpoints";
  std::filesystem::create_directories(folder);
  CheckpointWriter writer(folder, {.keep = 100}, /*asynchronous=*/true, {});
  TrainedModel model;
  for (int64_t step = 1; step <= 20; ++step) {
    model.train(static_cast<float>(step));
    save(writer, model, step);
    model.train(1000.0f);
    writer.check();
  }
  writer.finish();
  CHECK(writer.last().filename() == "step-00000020");
  for (int64_t step = 1; step <= 20; ++step) {
    CAPTURE(step);
    char name[32];
    std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
    CHECK(read_value(folder / name / artifacts::kModelFile) == static_cast<float>(step));
    CHECK(read_value(folder / name / artifacts::kTrainingFile) == static_cast<float>(-step));
  }
}

TEST_CASE("the error of an asynchronous checkpoint is thrown by the call after it") {
  const std::filesystem::path folder = test_folder() / "checkpoints";
  std::filesystem::create_directories(folder);
  CheckpointWriter writer(folder, {.keep = 1}, /*asynchronous=*/true, {});
  TrainedModel model;
  std::filesystem::remove_all(folder);
  save(writer, model, 1);
  CHECK_THROWS_AS(writer.finish(), support::Error);
}

}  // namespace tenon::host
