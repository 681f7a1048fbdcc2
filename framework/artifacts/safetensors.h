// Files of named tensors that Python reads and writes too (github.com/huggingface/safetensors): eight bytes with the
// length of a JSON header, the header (name -> dtype, shape, data_offsets; `__metadata__`), the tensors without gaps.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/durable_file.h"
#include "framework/artifacts/tensor_view.h"
#include "framework/support/error.h"

namespace tenon::artifacts {

using Metadata = std::map<std::string, std::string>;

// Writes the file durably (see durable_file.h), each tensor from where it lies. The header keeps the order given; the
// data lies by falling size of the elements, so that every tensor is aligned to its elements in the file and in memory.
// Throws Error(internal) for a tensor that cannot be stored (a complex or unknown type, a size that is not the shape's,
// a name twice or not UTF-8) and Error(kind) if the file cannot be written. Returns the XXH128 of what was written.
std::string write_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                              const Metadata& metadata, support::ErrorKind kind, LastsBy lasts_by = LastsBy::itself);

// A file mapped into memory. The views point into it and live as long as this object; nobody may shorten the file
// meanwhile. Tensors written by others may be less aligned than their elements: copy them with memcpy.
class SafetensorsFile {
 public:
  // Throws Error(checkpoint) naming the file, the tensor, what was found and what was expected, if the file cannot be
  // read or anything in it contradicts the format. What it accepts can be used without a further check.
  explicit SafetensorsFile(const std::filesystem::path& file);

  const std::vector<TensorView>& tensors() const { return tensors_; }  // in the header's order
  const TensorView* find(std::string_view name) const;                 // null: not there
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
