#include "framework/data/plugin_samples.h"

namespace tenon::data {

namespace {

class PluginWorker final : public SampleSource::Worker {
 public:
  PluginWorker(const components::Dataset& dataset, const ClassNumbers& classes, uint64_t worker_id, uint64_t seed)
      : dataset_(dataset), classes_(classes), worker_(dataset.open_worker(worker_id, seed)) {}
  ~PluginWorker() override { dataset_.close_worker(worker_); }

  void get(const SampleRequest& request, std::span<const SampleSlot> slots) override {
    const tenon_sample sample{sizeof(tenon_sample), request.index, request.epoch, request.seed};
    dataset_.get(worker_, sample, slots);
    classes_.apply(request, slots);
  }

 private:
  const components::Dataset& dataset_;
  const ClassNumbers& classes_;
  void* worker_;
};

}  // namespace

std::unique_ptr<SampleSource::Worker> PluginSamples::open_worker(uint64_t worker_id, uint64_t seed) {
  return std::make_unique<PluginWorker>(dataset_, classes_, worker_id, seed);
}

}  // namespace tenon::data
