#include "tests/data/numbered_samples.h"

#include "tenon/abi.h"

namespace tenon::data {
namespace {

constexpr size_t kPixels = 15;

}  // namespace

class NumberedSamples::NumberedWorker final : public Worker {
 public:
  NumberedWorker(NumberedSamples& source, uint64_t id) : source_(source), id_(id) {}
  ~NumberedWorker() override { source_.on_close(id_); }

  void get(const SampleRequest& request, std::span<std::byte* const> slots) override {
    ++source_.samples_read;
    source_.on_get(request);
    float pixels[kPixels];
    for (size_t i = 0; i < kPixels; ++i) {
      pixels[i] = static_cast<float>((request.seed >> i) % 1000) + static_cast<float>(request.epoch);
    }
    std::memcpy(slots[0], pixels, sizeof pixels);
    std::memcpy(slots[1], &request.index, sizeof request.index);
    slots[2][0] = static_cast<std::byte>(request.index % 251);
  }

 private:
  NumberedSamples& source_;
  uint64_t id_;
};

NumberedSamples::NumberedSamples(int64_t size)
    : size_(size),
      fields_{{"image", TENON_FLOAT32, {3, 5}, kPixels * sizeof(float)},
              {"label", TENON_INT64, {}, sizeof(int64_t)},
              {"flag", TENON_UINT8, {}, 1}} {}  // one byte, so that nothing is aligned by chance

std::unique_ptr<SampleSource::Worker> NumberedSamples::open_worker(uint64_t worker_id, uint64_t seed) {
  on_open(worker_id, seed);
  ++workers_opened;
  return std::make_unique<NumberedWorker>(*this, worker_id);
}

std::vector<std::string> copy_batch(const NumberedSamples& source, const Batch& batch) {
  std::vector<std::string> copy;
  for (size_t i = 0; i < batch.fields.size(); ++i) {
    copy.emplace_back(reinterpret_cast<const char*>(batch.fields[i]),
                      source.fields()[i].sample_bytes * static_cast<size_t>(batch.size));
  }
  return copy;
}

std::vector<std::vector<std::string>> read_pass(NumberedSamples& source, Loader& loader,
                                                const std::vector<int64_t>& order, int64_t epoch, int64_t first_batch) {
  loader.start(order, epoch, first_batch);
  std::vector<std::vector<std::string>> batches;
  while (const Batch* batch = loader.next()) batches.push_back(copy_batch(source, *batch));
  return batches;
}

std::vector<int64_t> indices_of(const Batch& batch) {
  std::vector<int64_t> indices(static_cast<size_t>(batch.size));
  std::memcpy(indices.data(), batch.fields[1], indices.size() * sizeof(int64_t));
  return indices;
}

}  // namespace tenon::data
