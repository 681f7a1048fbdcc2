// Writes a safetensors file row by row, for tensors larger than memory, such as the predictions for a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/durable_file.h"

namespace tenon::artifacts {

struct RowTensor {
  std::string name;
  int32_t dtype;                   // TENON_FLOAT32, ...
  std::vector<int64_t> row_shape;  // shape of one row; the tensor is [rows, row_shape...]
};

// The file exists durably after commit() returns. Until that point, and without commit(), an earlier file is unchanged.
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
