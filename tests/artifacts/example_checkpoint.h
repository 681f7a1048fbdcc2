// Tensors of a small model with values that depend on the step.
#pragma once

#include <tenon/abi.h>

#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"

namespace tenon::artifacts {

struct ExampleModel {
  explicit ExampleModel(int64_t step, int64_t size = 100)
      : weight(static_cast<size_t>(size), 0.5f + static_cast<float>(step)) {
    const auto* data = reinterpret_cast<const std::byte*>(weight.data());
    views = {{"fc.weight", TENON_FLOAT32, {size}, data, weight.size() * sizeof(float)},
             {"fc.bias", TENON_FLOAT32, {1}, data, sizeof(float)}};
  }
  std::vector<float> weight;
  std::vector<TensorView> views;
};

inline std::filesystem::path write_example(CheckpointStore& store, int64_t step, int64_t size = 100) {
  const ExampleModel model(step, size);
  return store.write({.epoch = 1,
                      .step = step,
                      .metrics = {{"train/loss", 0.25}},
                      .model = model.views,
                      .training = model.views,
                      .state = {{"step", static_cast<double>(step)}},
                      .texts = {{"plan.toml", "[run]\n"}}});
}

}  // namespace tenon::artifacts
