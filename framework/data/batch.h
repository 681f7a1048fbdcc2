// The batches that the loader returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::data {

// A sample that could not be read and was left out.
struct SkippedSample {
  int64_t place;       // within its batch, counting the skipped samples
  int64_t index;       // within the dataset
  std::string reason;  // the error's text
};

// One batch, valid until the loader's next() or start() is called again.
struct Batch {
  // C-contiguous. A sample that is smaller than the largest of its batch starts at index 0 of every dimension. The
  // field's padding fills the rest.
  struct Field {
    std::byte* data;             // never null
    std::vector<int64_t> shape;  // [size, extents of a sample...]
    bool is_padded = false;      // whether a sample was smaller
  };

  int64_t size;  // samples; smaller at the end of an epoch or if samples were skipped, 0 if all were skipped
  std::vector<Field> fields;                // empty if the size is 0
  std::vector<SkippedSample> skipped = {};  // ordered by place
};

}  // namespace tenon::data
