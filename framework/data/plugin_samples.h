// A plugin's dataset as a SampleSource for the loader.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "framework/components/kinds/dataset.h"
#include "framework/data/class_numbers.h"
#include "framework/data/sample_source.h"

namespace tenon::data {

class PluginSamples final : public SampleSource {
 public:
  // `dataset` must outlive this object. `classes` translates the numbers of its classes.
  explicit PluginSamples(const components::Dataset& dataset, ClassNumbers classes = {})
      : dataset_(dataset), classes_(std::move(classes)) {}

  int64_t size() const override { return dataset_.size(); }
  const std::vector<Field>& fields() const override { return dataset_.fields(); }
  // The names of classes, in the order of the numbers that the samples hold.
  const config::ClassNames& class_names() const { return classes_.names(); }
  std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) override;

 private:
  const components::Dataset& dataset_;
  ClassNumbers classes_;
};

// The seed of one dataset of a run. The seeds of its samples and workers are derived from it.
//
// Depends only on the run's seed and on `name`: "train", "validation", "test", or "validation/<name>" or "test/<name>".
// The datasets of a run have different seeds. So a dataset that generates samples from seeds never validates on
// training samples. "train" has the seed of the run.
uint64_t derive_dataset_seed(uint64_t run_seed, std::string_view name);

}  // namespace tenon::data
