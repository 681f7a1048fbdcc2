// Safetensors files (github.com/huggingface/safetensors): eight bytes with the length of a JSON header, the header
// (name -> dtype, shape, data_offsets; `__metadata__`), and the tensors without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The layout of a safetensors file to write.

struct SafetensorsLayout {
  std::string head;                      // the bytes before the data: the length of the header and the header
  std::vector<const TensorView*> order;  // order of the data, without gaps: descending element size
  uint64_t data_bytes = 0;               // of all tensors
};

// Throws Error(internal) as write_safetensors() does. `file` is for messages. Does not read the data of the tensors.
SafetensorsLayout lay_out_safetensors(const std::filesystem::path& file, std::span<const TensorView> tensors,
                                      const Metadata& metadata);

struct RowTensor {
  std::string name;
  int32_t dtype;                   // TENON_FLOAT32, ...
  std::vector<int64_t> row_shape;  // shape of one row; the tensor is [rows, row_shape...]
};

// Writes a safetensors file row by row, for tensors larger than memory, such as the predictions for a dataset. The file
// exists durably after commit() returns. Until that point, and without commit(), an earlier file is unchanged.
class SafetensorsRows {
 public:
  // Reserves space for `max_rows` rows of each tensor. The constructor and the functions throw Error(internal) for
  // tensors that cannot be stored, and Error(kind) if the file cannot be written.
  SafetensorsRows(std::filesystem::path file, std::vector<RowTensor> tensors, int64_t max_rows, Metadata metadata,
                  support::ErrorKind kind);

  // Appends rows to a tensor. REQUIRES: complete rows, at most max_rows in total.
  void append(size_t tensor, std::span<const std::byte> rows);

  // REQUIRES: all tensors have the same number of rows, at most max_rows.
  void commit();

 private:
  struct Part {
    uint64_t row_bytes;
    uint64_t begin;  // start of its reserved space in the file
    uint64_t written = 0;
  };

  std::vector<TensorView> views(int64_t rows) const;
  std::vector<uint64_t> find_begins(int64_t rows) const;
  void move(uint64_t from, uint64_t to, uint64_t bytes);

  std::filesystem::path path_;
  std::vector<RowTensor> tensors_;
  Metadata metadata_;
  int64_t max_rows_;
  uint64_t head_bytes_ = 0;
  std::vector<Part> parts_;  // one per tensor of tensors_
  DurableFile file_;
};

}  // namespace tenon::artifacts
