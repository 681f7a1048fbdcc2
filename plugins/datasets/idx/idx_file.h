// The files of MNIST and of the data sets that took over its format (Y. LeCun, C. Cortes, C. Burges, "The MNIST
// database", 1998): two bytes 0, the element type, the number of dimensions, each dimension in four bytes with the
// highest first, then the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/datasets/shared/mapped_file.h"

namespace idx {

class IdxFile {
 public:
  // A file of bytes with that many dimensions; `what` it should hold is for messages. Throws tenon::DataError naming
  // the file: it cannot be read, is compressed, is no such file, or is shorter or longer than its header says.
  IdxFile(const std::string& path, size_t dimensions, const std::string& what);

  const std::vector<int64_t>& shape() const { return shape_; }
  // Along all dimensions but the first.
  std::span<const uint8_t> item(int64_t index) const;

 private:
  datasets::MappedFile file_;
  std::vector<int64_t> shape_;
  std::span<const uint8_t> elements_;
};

}  // namespace idx
