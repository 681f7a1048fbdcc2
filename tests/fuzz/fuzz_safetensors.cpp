// A fuzz target (see https://llvm.org/docs/LibFuzzer.html) that reads arbitrary bytes as a safetensors file. The reader
// must reject them with Error(checkpoint), or return tensors within the file that can be written again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/safetensors_header.h"
#include "framework/artifacts/checkpoint/safetensors_layout.h"
#include "framework/support/error.h"
#include "framework/support/file_descriptor.h"

namespace {

using namespace tenon::artifacts;

void require(bool holds) {
  if (!holds) std::abort();
}

// An in-memory file with the given bytes.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : descriptor_(::memfd_create("fuzzed", MFD_CLOEXEC)) {
    require(descriptor_.is_open());
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t written = ::write(descriptor_.number(), bytes.data() + done, bytes.size() - done);
      require(written > 0);
      done += static_cast<size_t>(written);
    }
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_.number()); }

 private:
  tenon::support::FileDescriptor descriptor_;
};

void check_tensors(const SafetensorsFile& file, size_t file_bytes) {
  uint64_t bytes = 0, sum = 0;
  for (const TensorView& tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor);
    require(count_bytes(tensor.shape, find_stored_type(tensor.dtype)->bytes) == tensor.bytes);
    for (uint64_t i = 0; i < tensor.bytes; ++i) sum += std::to_integer<uint64_t>(tensor.data[i]);
    bytes += tensor.bytes;
  }
  require(bytes < file_bytes && sum <= 255 * bytes);
}

// Checks that writing the header and reading it again gives the same tensors and metadata.
void check_round_trip(const SafetensorsFile& file) {
  const SafetensorsLayout layout = lay_out_safetensors("written", file.tensors(), file.metadata());
  const SafetensorsHeader header =
      parse_safetensors_header(std::string_view(layout.head).substr(8), layout.data_bytes, "written");
  require(header.metadata == file.metadata() && header.tensors.size() == file.tensors().size());
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    const TensorView& tensor = file.tensors()[i];
    const SafetensorsEntry& entry = header.tensors[i];
    require(entry.name == tensor.name && entry.dtype == tensor.dtype && entry.shape == tensor.shape);
    require(entry.end - entry.begin == tensor.bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile memory(std::span(data, size));
  try {
    const SafetensorsFile file(memory.path());
    check_tensors(file, size);
    check_round_trip(file);
  } catch (const tenon::support::Error& error) {
    require(error.kind() == tenon::support::ErrorKind::checkpoint);
  }
  return 0;
}
