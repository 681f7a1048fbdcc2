// The memory of the batches that a loader keeps in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/data/sample_source.h"
#include "framework/support/compute/aligned_buffer.h"

namespace tenon::data {

// A varying-size field of one batch: memory for each sample, and the padded block of all samples.
class PaddedField {
 public:
  // `field` must outlive this object. Memory is allocated when samples arrive, and reused for later batches.
  PaddedField(const Field& field, int64_t batch_size);

  VaryingSample& sample(int64_t place) { return samples_[static_cast<size_t>(place)]; }

  // Copies the first `size` samples into one block. Each extent of the block is the largest one among the samples, and
  // at least the least extent of the field. A sample starts at index 0 of every dimension, and the field's padding
  // fills the rest. Throws support::Error(configuration) with the required size if there is not enough memory.
  // REQUIRES: all of these samples were written.
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

// A ring of batches that is reused. Memory for fixed-size fields is allocated once, memory for the others grows.
class BatchRing {
 public:
  // Allocates `slots` batches of `batch_size` samples. `fields` must outlive the ring. Memory for varying-size fields
  // is allocated when samples arrive. Throws support::Error(configuration) with the required size if there is not
  // enough memory.
  BatchRing(const std::vector<Field>& fields, int64_t batch_size, int64_t slots);

  int64_t slots() const { return static_cast<int64_t>(slots_.size()); }
  bool has_varying_fields() const { return has_varying_fields_; }

  // Locates the fields of one sample. Batch number b is in slot b % slots(). `out` has an element for each field.
  void locate_sample(int64_t batch_number, int64_t place, std::vector<SampleSlot>& out);

  // Moves the first `size` samples down to close the gaps at `places`, which are in ascending order.
  void close_gaps(int64_t batch_number, int64_t size, std::span<const int64_t> places);

  // Pads the first `size` samples of each varying-size field into a block. Throws as PaddedField::pad.
  void pad(int64_t batch_number, int64_t size);

  // Describes the batch of the first `size` samples, after pad(). Without samples, the batch has no fields.
  void describe_batch(int64_t batch_number, int64_t size, Batch& out) const;

 private:
  struct FieldSlot {
    std::byte* start;                     // for a fixed-size field
    std::unique_ptr<PaddedField> padded;  // for a varying-size field
  };
  struct Slot {
    support::AlignedBuffer memory;  // the fixed-size fields, one after another
    std::vector<FieldSlot> fields;
  };
  Slot make_slot(int64_t batch_size) const;
  size_t index(int64_t number) const { return static_cast<size_t>(number) % slots_.size(); }

  const std::vector<Field>& fields_;
  const bool has_varying_fields_;
  std::vector<Slot> slots_;
};

}  // namespace tenon::data
