#include "framework/data/plugin_samples.h"

#include "framework/support/compute/philox.h"

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

// FNV-1a (Fowler, Noll, Vo). It gives the same number on every machine; std::hash does not guarantee that. Philox mixes
// the bits.
constexpr uint64_t hash_name(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::unique_ptr<SampleSource::Worker> PluginSamples::open_worker(uint64_t worker_id, uint64_t seed) {
  return std::make_unique<PluginWorker>(dataset_, classes_, worker_id, seed);
}

uint64_t derive_dataset_seed(uint64_t run_seed, std::string_view name) {
  if (name == "train") return run_seed;
  return support::derive_seed(run_seed, support::StreamPurpose::dataset, 0, hash_name(name));
}

}  // namespace tenon::data
