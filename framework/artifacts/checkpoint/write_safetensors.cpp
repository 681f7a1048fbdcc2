#include <algorithm>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/safetensors_layout.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/support/digests/xxh128.h"

namespace tenon::artifacts {

std::string write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                              const Metadata& metadata, support::ErrorKind kind, SyncedBy synced_by) {
  const SafetensorsLayout layout = lay_out_safetensors(file, tensors, metadata);
  DurableFile out(file, kind, synced_by);
  support::Xxh128 digest;
  const auto write = [&](std::span<const std::byte> bytes) {
    constexpr size_t kPart = 1 << 20;  // a part stays in the CPU cache until the digest reads it
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPart, bytes.size()))) {
      const auto part = bytes.first(std::min(kPart, bytes.size()));
      out.write(part);
      digest.add(part);
    }
  };
  write(std::as_bytes(std::span(layout.head)));
  for (const TensorView* tensor : layout.order) write(std::span(tensor->data, tensor->bytes));
  out.commit();
  return digest.hexadecimal();
}

}  // namespace tenon::artifacts
