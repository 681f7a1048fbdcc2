// Safetensors files (github.com/huggingface/safetensors): eight bytes with the length of a JSON header, the header
// (name -> dtype, shape, data_offsets; `__metadata__`), and the tensors without gaps.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

using Metadata = std::map<std::string, std::string>;

// Writes the file durably (see durable_file.h), without copies of the tensors. The header keeps the given order. The
// data is ordered by descending element size, so that every tensor is aligned to its elements in the file and in
// memory. Throws Error(internal) for a tensor that cannot be stored: a complex or unknown dtype, a size that does not
// match the shape, or a name that is duplicate or not UTF-8. Throws Error(kind) if the file cannot be written. Returns
// the XXH128 of the file.
std::string write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                              const Metadata& metadata, support::ErrorKind kind, SyncedBy synced_by = SyncedBy::file);

// A memory-mapped file. The views point into the mapping and are valid as long as this object. No process may truncate
// the file meanwhile. Tensors of other writers may be unaligned: copy them with memcpy.
class SafetensorsFile {
 public:
  // Throws Error(checkpoint) if the file cannot be read or violates the format. The message names the file, the tensor,
  // what was found and what was expected. Accepted tensors need no further checks.
  explicit SafetensorsFile(const std::filesystem::path& file);

  const std::vector<TensorView>& tensors() const { return tensors_; }  // in the order of the header
  const TensorView* find(std::string_view name) const;                 // null: no such tensor
  const Metadata& metadata() const { return metadata_; }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(const std::byte* start) const;
  };
  std::unique_ptr<const std::byte, Unmap> mapping_{nullptr, Unmap{0}};
  std::vector<TensorView> tensors_;
  std::map<std::string, size_t, std::less<>> places_;
  Metadata metadata_;
};

}  // namespace tenon::artifacts
