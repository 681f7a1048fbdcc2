// A plugin's dataset as a SampleSource for the loader.
#pragma once

#include "framework/data/sample_source.h"
#include "framework/plugins/components/dataset.h"

namespace tenon::data {

class PluginSamples final : public SampleSource {
 public:
  // `dataset` must outlive this object.
  explicit PluginSamples(const plugins::Dataset& dataset) : dataset_(dataset) {}

  int64_t size() const override { return dataset_.size(); }
  const std::vector<Field>& fields() const override { return dataset_.fields(); }
  std::unique_ptr<Worker> open_worker(uint64_t worker_id, uint64_t seed) override;

 private:
  const plugins::Dataset& dataset_;
};

}  // namespace tenon::data
