// What the loader gives out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::data {

// One batch, valid until the loader's next() or start() is called again.
struct Batch {
  // C-contiguous. A sample that is smaller than the largest of its batch is in the corner of its part of the block, and
  // the field's padding fills the rest.
  struct Field {
    std::byte* data;             // never null
    std::vector<int64_t> shape;  // [size, extents of a sample...]
  };

  int64_t size;  // samples; the last batch of an epoch may be smaller
  std::vector<Field> fields;
};

}  // namespace tenon::data
