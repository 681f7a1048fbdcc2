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

  void get(const SampleRequest& request, std::span<const SampleSlot> slots) override {
    ++source_.samples_read;
    source_.on_get(request);
    float pixels[kPixels];
    for (size_t i = 0; i < kPixels; ++i) {
      pixels[i] = static_cast<float>((request.seed >> i) % 1000) + static_cast<float>(request.epoch);
    }
    std::memcpy(slots[0].fixed, pixels, sizeof pixels);
    std::memcpy(slots[1].fixed, &request.index, sizeof request.index);
    slots[2].fixed[0] = static_cast<std::byte>(request.index % 251);
    if (slots.size() > 3) write_varying(request, slots[3], slots[4]);
  }

  void write_varying(const SampleRequest& request, const SampleSlot& list, const SampleSlot& block) {
    const size_t length = request.seed % 100;
    const std::vector<int64_t> list_shape{static_cast<int64_t>(length)};
    std::memset(list.varying->resize(list_shape, length), static_cast<int>(request.index % 251), length);
    const std::vector<int64_t> shape = varying_shape(request.seed);
    const size_t elements = static_cast<size_t>(shape[0] * shape[1] * shape[2]);
    const std::vector<int32_t> numbers(elements, static_cast<int32_t>(request.index));
    std::byte* memory = block.varying->resize(shape, elements * sizeof(int32_t));
    if (elements > 0) std::memcpy(memory, numbers.data(), elements * sizeof(int32_t));
  }

 private:
  NumberedSamples& source_;
  uint64_t id_;
};

NumberedSamples::NumberedSamples(int64_t size, Sizes sizes)
    : size_(size),
      fields_{{"image", TENON_FLOAT32, {3, 5}, sizeof(float), kPixels * sizeof(float)},
              {"label", TENON_INT64, {}, sizeof(int64_t), sizeof(int64_t)},
              {"flag", TENON_UINT8, {}, 1, 1}} {  // one byte, so that no field is aligned by chance
  if (sizes == Sizes::fixed) return;
  fields_.push_back({"list", TENON_UINT8, {-1}, 1, 0, *components::encode_element(TENON_UINT8, 255)});
  fields_.push_back(
      {"block", TENON_INT32, {-1, 3, -1}, sizeof(int32_t), 0, *components::encode_element(TENON_INT32, -1)});
}

std::vector<int64_t> varying_shape(uint64_t seed) {
  return {static_cast<int64_t>(seed % 5), 3, static_cast<int64_t>(seed / 5 % 5)};
}

std::unique_ptr<SampleSource::Worker> NumberedSamples::open_worker(uint64_t worker_id, uint64_t seed) {
  on_open(worker_id, seed);
  ++workers_opened;
  return std::make_unique<NumberedWorker>(*this, worker_id);
}

std::vector<std::string> copy_batch(const NumberedSamples& source, const Batch& batch) {
  std::vector<std::string> copy;
  for (size_t i = 0; i < batch.fields.size(); ++i) {
    size_t bytes = source.fields()[i].element_bytes;
    std::string shape;
    for (const int64_t extent : batch.fields[i].shape) {
      bytes *= static_cast<size_t>(extent);
      shape += std::to_string(extent) + ",";
    }
    copy.push_back(shape + std::string(reinterpret_cast<const char*>(batch.fields[i].data), bytes));
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
  std::memcpy(indices.data(), batch.fields[1].data, indices.size() * sizeof(int64_t));
  return indices;
}

}  // namespace tenon::data
