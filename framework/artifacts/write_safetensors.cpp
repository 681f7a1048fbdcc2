#include <vector>

#include "framework/artifacts/durable_file.h"
#include "framework/artifacts/safetensors.h"
#include "framework/artifacts/safetensors_layout.h"
#include "framework/support/sha256.h"

namespace tenon::artifacts {

void write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors, const Metadata& metadata,
                       support::ErrorKind kind, LastsBy lasts_by) {
  const SafetensorsLayout layout = lay_out_safetensors(file, tensors, metadata);
  DurableFile out(file, kind, lasts_by);
  out.write(layout.head);
  for (const TensorView* tensor : layout.order) out.write(std::span(tensor->data, tensor->bytes));
  out.commit();
}

std::string digest_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                               const Metadata& metadata) {
  const SafetensorsLayout layout = lay_out_safetensors(file, tensors, metadata);
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(layout.head))};
  for (const TensorView* tensor : layout.order) pieces.emplace_back(tensor->data, tensor->bytes);
  return support::sha256(pieces);
}

}  // namespace tenon::artifacts
