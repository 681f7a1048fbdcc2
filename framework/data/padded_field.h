// A varying-size field of one batch: memory for each sample, and the padded block of all samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/data/batch.h"
#include "framework/data/sample_source.h"
#include "framework/support/compute/aligned_buffer.h"

namespace tenon::data {

class PaddedField {
 public:
  // `field` must outlive this object. Memory is allocated when samples arrive, and reused for later batches.
  PaddedField(const Field& field, int64_t batch_size);

  VaryingSample& sample(int64_t place) { return samples_[static_cast<size_t>(place)]; }

  // Copies the first `size` samples into one block. Each extent of the block is the largest one among the samples. A
  // sample starts at index 0 of every dimension, and the field's padding fills the rest. Throws
  // support::Error(configuration) with the required size if there is not enough memory. REQUIRES: all of these samples
  // were written.
  void pad(int64_t size);

  // The result of pad().
  const Batch::Field& block() const { return block_; }

 private:
  void place(std::span<const int64_t> shape, const std::byte* from, size_t from_bytes,  //
             std::span<const int64_t> largest, std::byte* to, size_t to_bytes) const;
  void fill(std::byte* to, size_t bytes) const;

  const Field& field_;
  std::vector<VaryingSample> samples_;
  support::AlignedBuffer memory_;
  Batch::Field block_{nullptr, {}, false};
};

}  // namespace tenon::data
