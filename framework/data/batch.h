// What the loader gives out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::data {

// A sample that could not be read and was left out.
struct SkippedSample {
  int64_t place;       // within its batch, had all been read
  int64_t index;       // within the dataset
  std::string reason;  // the error's text
};

// One batch, valid until the loader's next() or start() is called again.
struct Batch {
  // C-contiguous. A sample that is smaller than the largest of its batch is in the corner of its part of the block, and
  // the field's padding fills the rest.
  struct Field {
    std::byte* data;             // never null
    std::vector<int64_t> shape;  // [size, extents of a sample...]
  };

  int64_t size;  // samples; smaller at the end of an epoch, and where samples were skipped, even 0 where all were
  std::vector<Field> fields;                // none where the size is 0
  std::vector<SkippedSample> skipped = {};  // by place
};

}  // namespace tenon::data
