// Reads arbitrary bytes as a file of the dataset `arrays`, which is a .npy or a safetensors file. A wrong file is
// refused with tenon::DataError. The rows of an accepted one are the bytes of its arrays, and the reader of checkpoints
// finds the same tensors in a safetensors file.
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/abi.h>
#include <tenon/error.hpp>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/support/diagnostics/error.h"
#include "plugins/datasets/arrays/array_files.h"
#include "plugins/datasets/shared/npy.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::fuzz;
using arrays::Array;
using arrays::ArrayFiles;
using tenon::artifacts::SafetensorsFile;

// What only the reader of checkpoints refuses, and what only that of the dataset refuses.
constexpr const char* kOnlyInCheckpoints[] = {"of type BOOL is"};
constexpr const char* kOnlyInDatasets[] = {
    "holds no tensor",           "is a single number", "holds no sample", " samples; expected ",
    " arrays; expected at most", "hold no element",    "has no name",     "is empty",
};

template <size_t N>
bool names_any(const std::string& message, const char* const (&reasons)[N]) {
  return std::ranges::any_of(reasons, [&](const char* reason) { return message.find(reason) != std::string::npos; });
}

void check_array(const ArrayFiles& files, size_t index, Input input) {
  const Array& array = files.arrays()[index];
  require(array.offset <= input.size() && array.bytes <= input.size() - array.offset);
  require(!array.name.empty() && !array.shape.empty() && array.shape.front() == files.rows());
  uint64_t bytes = tenon::artifacts::find_stored_type(array.dtype)->bytes;
  for (const int64_t extent : array.shape) {
    require(extent > 0);
    bytes *= static_cast<uint64_t>(extent);
  }
  require(bytes == array.bytes);
  const uint64_t row_bytes = files.row_bytes(index);
  require(row_bytes > 0 && row_bytes * static_cast<uint64_t>(files.rows()) == bytes);
  std::vector<uint8_t> row(row_bytes);
  for (int64_t i = 0; i < files.rows(); ++i) {
    files.read_row(index, i, row.data());
    const Input stored = input.subspan(array.offset + static_cast<uint64_t>(i) * row_bytes, row_bytes);
    const auto is_same = [&](uint8_t read, uint8_t byte) {
      return read == (array.dtype == TENON_BOOL ? static_cast<uint8_t>(byte != 0) : byte);
    };
    require(std::ranges::equal(row, stored, is_same));
  }
}

// Selects all arrays by their names, in reverse order.
void check_selection(const ArrayFiles& files, const std::string& path) {
  std::vector<std::string> names;
  for (const Array& array : files.arrays()) names.insert(names.begin(), array.name);
  const ArrayFiles selected(path, names);
  require(std::ranges::equal(selected.arrays(), names, {}, &Array::name));
}

void check_tensors(const ArrayFiles& files, const SafetensorsFile& file, Input input) {
  require(files.arrays().size() == file.tensors().size());
  for (const Array& array : files.arrays()) {
    const tenon::artifacts::TensorView* const tensor = file.find(array.name);
    require(tensor != nullptr && tensor->dtype == array.dtype && tensor->shape == array.shape);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(tensor->data);
    require(std::ranges::equal(Input(bytes, tensor->bytes), input.subspan(array.offset, array.bytes)));
  }
}

}  // namespace

TENON_FUZZ_TARGET(arrays) {
  const MemoryFile memory(input);
  const bool is_npy = datasets::is_npy(input);
  std::string refused;
  try {
    const ArrayFiles files(memory.path(), {});
    for (size_t i = 0; i < files.arrays().size(); ++i) check_array(files, i, input);
    check_selection(files, memory.path());
    if (!is_npy) check_tensors(files, SafetensorsFile(memory.path()), input);
    return;
  } catch (const tenon::DataError& error) {
    refused = error.what();
  } catch (const tenon::support::Error& error) {
    require(names_any(error.what(), kOnlyInCheckpoints));
    return;
  }
  if (is_npy || names_any(refused, kOnlyInDatasets)) return;
  try {
    const SafetensorsFile file(memory.path());
    require(false);
  } catch (const tenon::support::Error& error) {
    require(error.kind() == tenon::support::ErrorKind::checkpoint);
  }
}
