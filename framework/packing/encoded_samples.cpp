#include "framework/packing/encoded_samples.h"

#include <tenon/abi.h>

#include <cstring>
#include <deque>
#include <utility>

#include "framework/support/compute/aligned_buffer.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::packing {

class EncodedSamples::EncodingWorker final : public data::SampleSource::Worker {
 public:
  EncodingWorker(const EncodedSamples& owner, std::unique_ptr<Worker> reader)
      : owner_(owner), reader_(std::move(reader)) {
    for (const data::Field& field : owner_.samples_.fields()) {
      fixed_.emplace_back();
      varying_.emplace_back();
      slots_.push_back(field.is_varying() ? data::SampleSlot{nullptr, &varying_.back()}
                                          : data::SampleSlot{fixed_.back().reserve(field.sample_bytes), nullptr});
    }
  }

  void get(const data::SampleRequest& request, std::span<const data::SampleSlot> slots) override {
    reader_->get(request, slots_);
    for (size_t i = 0; i < slots.size(); ++i) {
      encode_field(i, request.index);
      const int64_t size = static_cast<int64_t>(bytes_.size());
      std::byte* memory = slots[i].varying->resize({&size, 1}, bytes_.size());
      std::memcpy(memory, bytes_.data(), bytes_.size());
    }
  }

 private:
  void encode_field(size_t i, int64_t index) {
    const data::Field& field = owner_.samples_.fields()[i];
    const bool varies = slots_[i].varying != nullptr;
    const std::span<const std::byte> elements =
        varies ? std::span<const std::byte>(slots_[i].varying->data(), slots_[i].varying->bytes())
               : std::span<const std::byte>(slots_[i].fixed, field.sample_bytes);
    try {
      encode(owner_.files_[i], field.dtype, varies ? slots_[i].varying->shape() : field.shape, elements, bytes_);
    } catch (const support::Error& error) {
      throw support::Error(error.kind(), owner_.name_ + " sample " + std::to_string(index) + ": the field \"" +
                                             field.name + "\": " + error.what());
    }
  }

  const EncodedSamples& owner_;
  std::unique_ptr<Worker> reader_;
  std::deque<support::AlignedBuffer> fixed_;
  std::deque<data::VaryingSample> varying_;
  std::vector<data::SampleSlot> slots_;
  std::vector<std::byte> bytes_;  // bytes of one file
};

EncodedSamples::EncodedSamples(data::SampleSource& samples, std::string name)
    : samples_(samples), name_(std::move(name)) {
  for (const data::Field& field : samples_.fields()) {
    files_.push_back(choose_file(field));
    fields_.push_back({field.name, TENON_UINT8, {-1}, 1, 0});
  }
}

std::unique_ptr<data::SampleSource::Worker> EncodedSamples::open_worker(uint64_t worker_id, uint64_t seed) {
  return std::make_unique<EncodingWorker>(*this, samples_.open_worker(worker_id, seed));
}

}  // namespace tenon::packing
