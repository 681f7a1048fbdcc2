#include "framework/artifacts/checkpoint/copy_safetensors.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/file_error.h"
#include "framework/support/file_descriptor.h"
#include "framework/support/files.h"
#include "framework/support/read_file.h"
#include "framework/support/xxh128.h"

namespace tenon::artifacts {

namespace {

constexpr size_t kPart = 256 << 10;  // in bytes; a part stays in the CPU cache until the digest reads it

class Pass {
 public:
  explicit Pass(const std::filesystem::path& file) : file_(file), stream_(support::open_file(file, {kOfCopies})) {}

  void read(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::read(stream_.number(), bytes.data(), std::min(bytes.size(), kPart));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw make_file_error(kOfCopies, file_, "cannot be read", count < 0 ? errno : EIO);
      digest_.add(bytes.first(static_cast<size_t>(count)));
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

  std::string digest() const { return digest_.hexadecimal(); }

 private:
  static constexpr auto kOfCopies = support::ErrorKind::checkpoint;
  const std::filesystem::path& file_;
  support::FileDescriptor stream_;
  support::Xxh128 digest_;
};

}  // namespace

std::string copy_safetensors(const std::filesystem::path& file,
                             const std::function<std::byte*(const TensorView& tensor)>& place) {
  const SafetensorsFile mapped(file);
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : mapped.tensors()) order.push_back(&tensor);
  std::ranges::stable_sort(order, {}, [](const TensorView* tensor) { return std::pair(tensor->data, tensor->bytes); });
  // The tensors follow the header without gaps, so all other bytes belong to the header.
  uint64_t head = support::read_file_size(file, support::ErrorKind::checkpoint);
  for (const TensorView* tensor : order) head -= tensor->bytes;
  std::vector<std::byte> header(head);
  Pass pass(file);
  pass.read(header);
  for (const TensorView* tensor : order) pass.read(std::span(place(*tensor), tensor->bytes));
  return pass.digest();
}

}  // namespace tenon::artifacts
