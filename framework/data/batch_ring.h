// The memory of the batches that a loader keeps in flight, reused round after round: allocated once for fields of a
// fixed size, and growing for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/data/batch.h"
#include "framework/data/padded_field.h"
#include "framework/data/sample_source.h"
#include "framework/support/aligned_buffer.h"

namespace tenon::data {

class BatchRing {
 public:
  // `slots` times room for `batch_size` samples of the fields, which must outlive the ring; fields of varying size get
  // theirs as samples come. Throws support::Error(configuration) saying how much was asked for, when there is not so
  // much memory.
  BatchRing(const std::vector<Field>& fields, int64_t batch_size, int64_t slots);

  int64_t slots() const { return static_cast<int64_t>(slots_.size()); }
  bool has_varying_fields() const { return has_varying_fields_; }

  // Where the fields of one sample go; batch number b lives in slot b % slots(). `out` has an element for each field.
  void locate_sample(int64_t batch_number, int64_t place, std::vector<SampleSlot>& out);

  // Moves samples of the first `size` down into the gaps at `places`, which ascend.
  void close_gaps(int64_t batch_number, int64_t size, std::span<const int64_t> places);

  // Makes a block of the first `size` samples of each field of varying size. Throws as PaddedField::pad.
  void pad(int64_t batch_number, int64_t size);

  // The batch of the first `size` samples, which were padded where they vary; without fields if there are none.
  void describe_batch(int64_t batch_number, int64_t size, Batch& out) const;

 private:
  struct FieldSlot {
    std::byte* start;                     // of a fixed field
    std::unique_ptr<PaddedField> padded;  // of a field of varying size
  };
  struct Slot {
    support::AlignedBuffer memory;  // the fixed fields, one after the other
    std::vector<FieldSlot> fields;
  };
  Slot make_slot(int64_t batch_size) const;
  size_t index(int64_t number) const { return static_cast<size_t>(number) % slots_.size(); }

  const std::vector<Field>& fields_;
  const bool has_varying_fields_;
  std::vector<Slot> slots_;
};

}  // namespace tenon::data
