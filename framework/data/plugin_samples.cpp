#include "framework/data/plugin_samples.h"

namespace tenon::data {

namespace {

class PluginWorker final : public SampleSource::Worker {
 public:
  PluginWorker(const plugins::Dataset& dataset, uint64_t worker_id, uint64_t seed)
      : dataset_(dataset), worker_(dataset.open_worker(worker_id, seed)) {}
  ~PluginWorker() override { dataset_.close_worker(worker_); }

  void get(const SampleRequest& request, std::span<std::byte* const> slots) override {
    const tenon_sample sample{sizeof(tenon_sample), request.index, request.epoch, request.seed};
    dataset_.get(worker_, sample, slots);
  }

 private:
  const plugins::Dataset& dataset_;
  void* worker_;
};

}  // namespace

PluginSamples::PluginSamples(const plugins::Dataset& dataset) : dataset_(dataset) {
  for (const plugins::Dataset::Field& field : dataset.fields())
    fields_.push_back({field.name, field.dtype, field.shape, field.sample_bytes});
}

std::unique_ptr<SampleSource::Worker> PluginSamples::open_worker(uint64_t worker_id, uint64_t seed) {
  return std::make_unique<PluginWorker>(dataset_, worker_id, seed);
}

}  // namespace tenon::data
