#include "framework/artifacts/checkpoint/safetensors_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "framework/artifacts/checkpoint/safetensors_layout.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::artifacts {

namespace {

// The format allows spaces after the header. The data starts after the space reserved for the longest header.
std::string pad_head(const std::string& head, uint64_t bytes) {
  constexpr uint64_t kLength = 8;
  const auto length = std::bit_cast<std::array<char, kLength>>(bytes - kLength);
  std::string padded = std::string(length.data(), length.size()) + head.substr(kLength);
  padded.resize(bytes, ' ');
  return padded;
}

}  // namespace

SafetensorsRows::SafetensorsRows(std::filesystem::path file, std::vector<RowTensor> tensors, int64_t max_rows,
                                 Metadata metadata, support::ErrorKind kind)
    : path_(file),
      tensors_(std::move(tensors)),
      metadata_(std::move(metadata)),
      max_rows_(max_rows),
      file_(std::move(file), kind) {
  TENON_CHECK(max_rows >= 0, "max_rows is " << max_rows);
  // Fewer rows never need more digits, so this header is the longest.
  head_bytes_ = lay_out_safetensors(path_, views(max_rows), metadata_).head.size();
  const std::vector<uint64_t> begins = find_begins(max_rows);
  for (size_t i = 0; i < tensors_.size(); ++i)
    parts_.push_back({*count_bytes(tensors_[i].row_shape, find_stored_type(tensors_[i].dtype)->bytes), begins[i]});
}

// Returns the tensors with this number of rows, for the layout. Tensors that cannot be stored have 0 bytes here, and
// the layout reports the reason.
std::vector<TensorView> SafetensorsRows::views(int64_t rows) const {
  std::vector<TensorView> views;
  for (const RowTensor& tensor : tensors_) {
    std::vector<int64_t> shape{rows};
    shape.insert(shape.end(), tensor.row_shape.begin(), tensor.row_shape.end());
    const StoredType* type = find_stored_type(tensor.dtype);
    const auto bytes = type ? count_bytes(shape, type->bytes) : std::nullopt;
    views.push_back({tensor.name, tensor.dtype, std::move(shape), nullptr, bytes.value_or(0)});
  }
  return views;
}

std::vector<uint64_t> SafetensorsRows::find_begins(int64_t rows) const {
  const std::vector<TensorView> all = views(rows);
  const SafetensorsLayout layout = lay_out_safetensors(path_, all, metadata_);
  std::vector<uint64_t> begins(all.size());
  uint64_t begin = head_bytes_;
  for (const TensorView* tensor : layout.order) {
    begins[static_cast<size_t>(tensor - all.data())] = begin;
    begin += tensor->bytes;
  }
  return begins;
}

void SafetensorsRows::append(size_t tensor, std::span<const std::byte> rows) {
  Part& part = parts_.at(tensor);
  const uint64_t capacity = static_cast<uint64_t>(max_rows_) * part.row_bytes;
  TENON_CHECK(part.written + rows.size() <= capacity,
              tensors_[tensor].name << ": " << part.written + rows.size() << " bytes of " << capacity);
  file_.write_at(part.begin + part.written, rows);
  part.written += rows.size();
}

void SafetensorsRows::commit() {
  int64_t rows = tensors_.empty() ? 0 : max_rows_;
  for (const Part& part : parts_)
    if (part.row_bytes > 0) rows = std::min(rows, static_cast<int64_t>(part.written / part.row_bytes));
  for (size_t i = 0; i < parts_.size(); ++i)
    TENON_CHECK(parts_[i].written == static_cast<uint64_t>(rows) * parts_[i].row_bytes,
                tensors_[i].name << " has " << parts_[i].written << " bytes for " << rows << " rows");
  const std::vector<TensorView> all = views(rows);
  const SafetensorsLayout layout = lay_out_safetensors(path_, all, metadata_);
  // If there are fewer rows than reserved, the data of the tensors moves together. In this order no move overwrites
  // other data.
  const std::vector<uint64_t> begins = find_begins(rows);
  for (const TensorView* tensor : layout.order) {
    const auto i = static_cast<size_t>(tensor - all.data());
    move(parts_[i].begin, begins[i], parts_[i].written);
  }
  file_.resize(head_bytes_ + layout.data_bytes);
  const std::string head = pad_head(layout.head, head_bytes_);
  file_.write_at(0, std::as_bytes(std::span(head.data(), head.size())));
  file_.commit();
}

// REQUIRES: to <= from.
void SafetensorsRows::move(uint64_t from, uint64_t to, uint64_t bytes) {
  if (from == to) return;
  std::vector<std::byte> piece(std::min<uint64_t>(bytes, 1 << 20));
  for (uint64_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), bytes - done));
    file_.read_at(from + done, piece);
    file_.write_at(to + done, piece);
  }
}

}  // namespace tenon::artifacts
