// Memory that a dataset writes a sample to, with guard bytes around each slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tenon/dataset.h>

namespace tenon::validation {

struct DatasetField {
  std::string name;
  int32_t dtype;
  std::vector<int64_t> shape;  // of one sample; -1 where it varies

  // The bytes of a sample of this shape; none if the shape does not fit the field or is implausibly large.
  std::optional<size_t> bytes(const int64_t* extents, uint32_t ndim) const;
};

class SampleSlots {
 public:
  // Slots are filled with `pattern` before the dataset gets them.
  SampleSlots(const std::vector<DatasetField>& fields, std::byte pattern) : fields_(fields), pattern_(pattern) {}
  SampleSlots(const SampleSlots&) = delete;
  SampleSlots& operator=(const SampleSlots&) = delete;

  tenon_sink sink() { return {sizeof(tenon_sink), this, give}; }

  // The first invalid request of the dataset; empty: none.
  const std::string& error() const { return error_; }
  std::string unrequested_fields() const;      // "" or "image, label"
  std::string fields_written_outside() const;  // "" or "image, before its first byte"

  // For each field in order: its shape, followed by its bytes.
  std::vector<std::vector<std::byte>> contents() const;

 private:
  static constexpr size_t kGuard = 4096;
  struct Slot {
    std::vector<int64_t> shape;
    std::vector<std::byte> memory;  // guard, slot, guard
  };
  static tenon_status give(const tenon_sink* sink, uint64_t field, const int64_t* shape, uint32_t ndim, void** memory);
  tenon_status refuse(const std::string& what);

  const std::vector<DatasetField>& fields_;
  std::byte pattern_;
  std::map<uint64_t, Slot> slots_;
  std::string error_;
};

}  // namespace tenon::validation
