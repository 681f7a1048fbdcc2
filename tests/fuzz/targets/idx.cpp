// Reads arbitrary bytes as an IDX file; the first byte chooses the number of dimensions. A wrong file is refused with
// tenon::DataError, and the items of an accepted one are its bytes.
#include <algorithm>
#include <vector>

#include <tenon/error.hpp>

#include "plugins/datasets/idx/idx_file.h"
#include "tests/fuzz/fuzz_target.h"

TENON_FUZZ_TARGET(idx) {
  using namespace tenon::fuzz;
  Choices choices(input);
  const size_t dimensions = 1 + choices.choose(4);
  const MemoryFile memory(choices.rest());
  try {
    const idx::IdxFile file(memory.path(), dimensions, "images");
    require(file.shape().size() == dimensions);
    const std::vector<uint8_t> all = file.read_all();
    std::vector<uint8_t> items, item;
    for (int64_t i = 0; i < file.shape().front(); ++i) {
      file.read(i, item);
      items.insert(items.end(), item.begin(), item.end());
    }
    require(items == all);
  } catch (const tenon::DataError&) {
  }
}
