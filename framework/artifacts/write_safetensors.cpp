#include "framework/artifacts/durable_file.h"
#include "framework/artifacts/safetensors.h"
#include "framework/artifacts/safetensors_layout.h"

namespace tenon::artifacts {

void write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors, const Metadata& metadata,
                       support::ErrorKind kind) {
  const SafetensorsLayout layout = lay_out_safetensors(file, tensors, metadata);
  DurableFile out(file, kind);
  out.write(layout.head);
  for (const TensorView* tensor : layout.order) out.write(std::span(tensor->data, tensor->bytes));
  out.commit();
}

}  // namespace tenon::artifacts
