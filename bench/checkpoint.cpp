// Measures the cost of a checkpoint, to compare with safetensors in Python: 100 M parameters in 150 tensors and two
// AdamW states per parameter, 1.2 GB in total.
//
//   build/release/bin/benchmark_checkpoint FOLDER [ROUNDS]
//
// Prints the seconds for writing (with digests, fsync and the renames), for verifying, and for verifying and loading.
// The files are in the page cache. docs/benchmarks/checkpoints.md has the results.
// bench/checkpoint.py is the Python counterpart.
#include <tenon/abi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"

namespace {

using namespace tenon::artifacts;
using Clock = std::chrono::steady_clock;

constexpr int64_t kTensors = 150;
constexpr int64_t kElements = 100'000'000 / kTensors;

struct Weights {
  std::vector<std::vector<float>> data;
  std::vector<TensorView> views;

  void add(const std::string& name, std::mt19937& random) {
    auto& values = data.emplace_back(static_cast<size_t>(kElements));
    for (float& value : values) value = static_cast<float>(random()) * 1e-9F;
    views.push_back({name,
                     TENON_FLOAT32,
                     {kElements},
                     reinterpret_cast<const std::byte*>(values.data()),
                     values.size() * sizeof(float)});
  }
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Loads a checkpoint like a resumed run: verifies the digests, then copies the tensors out of the mapped files.
void load(const std::filesystem::path& checkpoint, Weights& model, Weights& training) {
  verify_checkpoint(checkpoint);
  for (const char* name : {kModelFile, kTrainingFile}) {
    Weights& weights = std::string_view(name) == kModelFile ? model : training;
    const SafetensorsFile file(checkpoint / name);
    for (size_t i = 0; i < weights.data.size(); ++i)
      std::memcpy(weights.data[i].data(), file.tensors()[i].data, file.tensors()[i].bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [ROUNDS]\n", argv[0]);
    return 2;
  }
  std::mt19937 random(0);
  Weights model, training;
  for (int64_t i = 0; i < kTensors; ++i) {
    const std::string name = "layer." + std::to_string(i) + ".weight";
    model.add(name, random);
    training.add("optimizer." + name + ".exp_avg", random);
    training.add("optimizer." + name + ".exp_avg_sq", random);
  }
  std::filesystem::create_directories(argv[1]);
  CheckpointStore store(argv[1], {1});
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  for (int round = 1; round <= rounds; ++round) {
    auto begin = Clock::now();
    const auto folder = store.write({.epoch = 1,
                                     .step = round,
                                     .metrics = {},
                                     .model = model.views,
                                     .training = training.views,
                                     .state = {{"step", round}}});
    const double written = seconds_since(begin);
    begin = Clock::now();
    verify_checkpoint(folder);
    const double verified = seconds_since(begin);
    begin = Clock::now();
    load(folder, model, training);
    std::printf("write %.2f s, verify %.2f s, load %.2f s\n", written, verified, seconds_since(begin));
  }
  return 0;
}
