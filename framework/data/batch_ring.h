// The memory of the batches that a loader keeps in flight: allocated once, reused round after round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/data/sample_source.h"

namespace tenon::data {

class BatchRing {
 public:
  // Vector loads of any CPU, and no cache line shared between two fields.
  static constexpr size_t kAlignment = 64;

  // `slots` times room for `batch_size` samples of the fields. Throws support::Error(configuration) saying how much was
  // asked for, when there is not so much memory.
  BatchRing(const std::vector<Field>& fields, int64_t batch_size, int64_t slots);

  int64_t slots() const { return static_cast<int64_t>(memory_.size()); }

  // The first byte of each field of the batch; batch number b lives in slot b % slots().
  const std::vector<std::byte*>& batch(int64_t number) const { return starts_[slot(number)]; }

  // The first byte of each field of one sample. `out` has an element for each field.
  void locate_sample(int64_t batch_number, int64_t place, std::vector<std::byte*>& out) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  size_t slot(int64_t number) const { return static_cast<size_t>(number) % memory_.size(); }

  std::vector<size_t> sample_bytes_;
  std::vector<std::unique_ptr<std::byte[], Free>> memory_;  // a block for each slot, its fields one after the other
  std::vector<std::vector<std::byte*>> starts_;
};

}  // namespace tenon::data
