// A safetensors file that is written row by row, so that tensors larger than memory fit: predictions of a data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/durable_file.h"
#include "framework/artifacts/safetensors.h"

namespace tenon::artifacts {

struct RowTensor {
  std::string name;
  int32_t dtype;                   // TENON_FLOAT32, ...
  std::vector<int64_t> row_shape;  // of one row: the tensor is [rows, row_shape...]
};

// The file is there, durably, once commit() returns; before, and without it, what was under the name stays.
class SafetensorsRows {
 public:
  // Room is kept for `most_rows` of each tensor. Throws Error(internal) for tensors that cannot be stored and
  // Error(kind) if the file cannot be written, as do the functions.
  SafetensorsRows(std::filesystem::path file, std::vector<RowTensor> tensors, int64_t most_rows, Metadata metadata,
                  support::ErrorKind kind);

  // The next rows of a tensor. REQUIRES: whole rows, most_rows in all at most.
  void append(size_t tensor, std::span<const std::byte> rows);

  // REQUIRES: every tensor has got the same number of rows, most_rows or fewer.
  void commit();

 private:
  struct Part {
    uint64_t row_bytes;
    uint64_t begin;  // of its room in the file
    uint64_t written = 0;
  };

  std::vector<TensorView> views(int64_t rows) const;
  std::vector<uint64_t> find_begins(int64_t rows) const;
  void move(uint64_t from, uint64_t to, uint64_t bytes);

  std::filesystem::path path_;
  std::vector<RowTensor> tensors_;
  Metadata metadata_;
  int64_t most_rows_;
  uint64_t head_bytes_ = 0;
  std::vector<Part> parts_;  // of tensors_
  DurableFile file_;
};

}  // namespace tenon::artifacts
