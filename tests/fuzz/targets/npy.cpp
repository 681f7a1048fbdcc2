// Reads arbitrary bytes as a NumPy file. A wrong file is refused with tenon::DataError, and the elements of an accepted
// one have the size that dtype and shape give.
#include <algorithm>

#include <tenon/abi.h>
#include <tenon/error.hpp>

#include "plugins/datasets/shared/npy.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::fuzz;

size_t count_bytes(int32_t dtype) {
  switch (dtype) {
    case TENON_BOOL:
    case TENON_UINT8:
    case TENON_INT8: return 1;
    case TENON_INT16:
    case TENON_FLOAT16: return 2;
    case TENON_INT32:
    case TENON_FLOAT32: return 4;
    case TENON_INT64:
    case TENON_FLOAT64: return 8;
    default: require(false); return 0;
  }
}

}  // namespace

TENON_FUZZ_TARGET(npy) {
  try {
    const Input beginning = input.first(std::min(input.size(), size_t{datasets::kNpyStart}));
    const uint64_t offset = datasets::npy_data_offset(beginning, input.size(), "fuzzed.npy");
    require(offset <= input.size());
    const datasets::NpyHeader header = datasets::read_npy_header(input.first(offset), input.size(), "fuzzed.npy");
    require(header.data_offset == offset);
    uint64_t bytes = count_bytes(header.dtype);
    for (const int64_t extent : header.shape) {
      require(extent >= 0);
      bytes *= static_cast<uint64_t>(extent);
    }
    require(bytes == input.size() - offset);
  } catch (const tenon::DataError&) {
  }
}
