// A field of varying size of one batch: memory for each sample, and the block that the samples become.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/data/batch.h"
#include "framework/data/sample_source.h"
#include "framework/support/aligned_buffer.h"

namespace tenon::data {

class PaddedField {
 public:
  // `field` must outlive this. Memory is allocated when samples come, and kept for the batches that follow.
  PaddedField(const Field& field, int64_t batch_size);

  VaryingSample& sample(int64_t place) { return samples_[static_cast<size_t>(place)]; }

  // Copies the first `size` samples into one block, each in the corner of its part, which is as large as the largest
  // extents of them all; the field's padding fills the rest. Throws support::Error(configuration) saying how much was
  // asked for, when there is not so much memory. REQUIRES: all of them were written.
  void pad(int64_t size);

  // What pad() made.
  const Batch::Field& block() const { return block_; }

 private:
  void place(std::span<const int64_t> shape, const std::byte* from, size_t from_bytes,  //
             std::span<const int64_t> largest, std::byte* to, size_t to_bytes) const;
  void fill(std::byte* to, size_t bytes) const;

  const Field& field_;
  std::vector<VaryingSample> samples_;
  support::AlignedBuffer memory_;
  Batch::Field block_{nullptr, {}};
};

}  // namespace tenon::data
