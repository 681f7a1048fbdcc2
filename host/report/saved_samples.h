// The samples that a run's model was best and worst at, as its folder keeps them: samples/samples.json and PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/confusion_chart.h"
#include "framework/artifacts/draw_samples.h"
#include "framework/pipeline/score_samples.h"

namespace tenon::host {

struct SavedSample {
  int64_t index;  // within the dataset
  double loss;    // of it alone
  artifacts::DrawnSample drawn;
};

struct SavedConfusion {
  std::string output;  // of the model: "logits"
  std::string target;  // of the dataset: "label"
  bool is_per_sample;  // one class a sample, not one for each of its places
  artifacts::Confusion counts;
};

struct SavedSamples {
  std::string data;                // "validation"
  int64_t step;                    // whose weights the model had
  int64_t scored;                  // samples looked at
  int64_t size;                    // samples there are
  std::vector<SavedSample> worst;  // the largest loss first
  std::vector<SavedSample> best;   // the smallest loss first
  std::map<std::string, artifacts::GreyRange> ranges;
  std::vector<SavedConfusion> classes;
};

SavedSamples draw_scores(const pipeline::SampleScores& scores, int64_t step);

// Writes the folder, in the place of one that is there. Throws Error(internal) where it cannot.
void write_samples(const SavedSamples& samples, const std::filesystem::path& folder);

// None where there is no folder. Throws Error(checkpoint) with the file where it is damaged.
std::optional<SavedSamples> read_samples(const std::filesystem::path& folder);

}  // namespace tenon::host
