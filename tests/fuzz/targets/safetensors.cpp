// Reads arbitrary bytes as a safetensors file. A wrong file is refused with Error(checkpoint), and the tensors of an
// accepted one lie within the file and can be written again.
#include <cstdint>
#include <string_view>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/formats/safetensors_header.h"
#include "framework/support/diagnostics/error.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tenon::artifacts;
using tenon::fuzz::require;

void check_tensors(const SafetensorsFile& file, size_t file_bytes) {
  uint64_t bytes = 0, sum = 0;
  for (const TensorView& tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor);
    require(tenon::artifacts::count_bytes(tensor.shape, find_stored_type(tensor.dtype)->bytes) == tensor.bytes);
    for (uint64_t i = 0; i < tensor.bytes; ++i) sum += std::to_integer<uint64_t>(tensor.data[i]);
    bytes += tensor.bytes;
  }
  require(bytes < file_bytes && sum <= 255 * bytes);
}

// Checks that writing the header and reading it again gives the same tensors and metadata.
void check_round_trip(const SafetensorsFile& file) {
  const SafetensorsLayout layout = lay_out_safetensors("written", file.tensors(), file.metadata());
  const formats::SafetensorsHeader header =
      formats::parse_safetensors_header(std::string_view(layout.head).substr(8), layout.data_bytes);
  require(header.metadata == file.metadata() && header.tensors.size() == file.tensors().size());
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    const TensorView& tensor = file.tensors()[i];
    const formats::SafetensorsEntry& entry = header.tensors[i];
    require(entry.name == tensor.name && entry.dtype == tensor.dtype && entry.shape == tensor.shape);
    require(entry.end - entry.begin == tensor.bytes);
  }
}

}  // namespace

TENON_FUZZ_TARGET(safetensors) {
  const tenon::fuzz::MemoryFile memory(input);
  try {
    const SafetensorsFile file(memory.path());
    check_tensors(file, input.size());
    check_round_trip(file);
  } catch (const tenon::support::Error& error) {
    require(error.kind() == tenon::support::ErrorKind::checkpoint);
  }
}
