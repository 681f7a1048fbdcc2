// The file format of MNIST and of datasets that adopted it (Y. LeCun, C. Cortes, C. Burges, "The MNIST database",
// 1998). The header has two zero bytes, the element type, the number of dimensions, and each dimension in four bytes,
// most significant byte first. The elements follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/regular_file.h"

namespace idx {

class IdxFile {
 public:
  // Opens a file of bytes with `dimensions` dimensions. `what` names the expected contents in messages. Throws
  // tenon::DataError naming the file if it cannot be read, is compressed, is not such a file, or is shorter or longer
  // than its header says.
  IdxFile(const std::string& path, size_t dimensions, const std::string& what);

  const std::vector<int64_t>& shape() const { return shape_; }
  // Reads the bytes of one item, over all dimensions but the first. Throws tenon::DataError naming the file if it was
  // shortened.
  void read(int64_t index, std::vector<uint8_t>& bytes) const;
  std::vector<uint8_t> read_all() const;

 private:
  uint64_t begin() const;  // offset of the elements

  components::RegularFile file_;
  std::vector<int64_t> shape_;
};

}  // namespace idx
