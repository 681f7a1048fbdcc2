#include "framework/artifacts/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tenon/abi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "framework/formats/safetensors_header.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/files/file_descriptor.h"
#include "framework/support/files/files.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr auto kUnreadable = support::ErrorKind::checkpoint;
constexpr auto kUnstorable = support::ErrorKind::internal;

std::string encode_length(uint64_t bytes) {
  const auto length = std::bit_cast<std::array<char, sizeof bytes>>(bytes);
  return {length.data(), length.size()};
}

// The format allows spaces after the header. The data starts after the space reserved for the longest header.
std::string pad_head(const std::string& head, uint64_t bytes) {
  constexpr uint64_t kLength = 8;
  std::string padded = encode_length(bytes - kLength) + head.substr(kLength);
  padded.resize(bytes, ' ');
  return padded;
}

// Reading any other byte as a C++ bool is undefined behaviour.
void check_booleans(const TensorView& tensor, const fs::path& file) {
  const auto* end = tensor.data + tensor.bytes;
  const auto* wrong = std::find_if(tensor.data, end, [](std::byte value) { return value > std::byte{1}; });
  if (wrong == end) return;
  support::refuse_path(kUnreadable, file, "tensor {}: element {} of type BOOL is {}; expected 0 or 1",
                       quote_name(tensor.name), wrong - tensor.data, std::to_integer<int>(*wrong));
}

std::string to_json(const std::string& text, const fs::path& file) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    support::refuse_path(kUnstorable, file, "the name or metadata {} is not UTF-8", quote_name(text));
  }
}

void check_tensors(std::span<const TensorView> tensors, const fs::path& file) {
  if (tensors.size() > formats::kMaxSafetensors)
    support::refuse_path(kUnstorable, file, "{} tensors; a file holds at most {}", tensors.size(),
                         formats::kMaxSafetensors);
  std::unordered_set<std::string_view> names;
  for (const auto& tensor : tensors) {
    const std::string place = "tensor " + quote_name(tensor.name);
    const StoredType* type = find_stored_type(tensor.dtype);
    if (!type)
      support::refuse_path(kUnstorable, file,
                           "{}: its type ({}) cannot be stored; expected {}; complex tensors are not supported", place,
                           tensor.dtype, list_stored_types());
    const auto expected = count_bytes(tensor.shape, type->bytes);
    if (expected != tensor.bytes)
      support::refuse_path(kUnstorable, file, "{} has {} bytes; expected {} of its type and shape", place, tensor.bytes,
                           expected ? std::to_string(*expected) : "a possible shape");
    if (const auto error = find_name_error(tensor.name))
      support::refuse_path(kUnstorable, file, "{}: {}", place, *error);
    if (!names.insert(tensor.name).second) support::refuse_path(kUnstorable, file, "{} occurs twice", place);
  }
}

std::vector<const TensorView*> order_by_alignment(std::span<const TensorView> tensors) {
  std::vector<const TensorView*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater(),
                           [](const TensorView* tensor) { return find_stored_type(tensor->dtype)->bytes; });
  return order;
}

std::string make_header(std::span<const TensorView> tensors, const std::map<const TensorView*, uint64_t>& begins,
                        const Metadata& metadata, const fs::path& file) {
  std::string header = "{";
  const auto start_member = [&] {
    if (!header.ends_with('{')) header += ',';
  };
  if (!metadata.empty()) {
    header += fmt::format("\"{}\":{{", formats::kMetadataKey);
    for (const auto& [key, value] : metadata) {
      start_member();
      header += to_json(key, file) + ":" + to_json(value, file);
    }
    header += '}';
  }
  for (const auto& tensor : tensors) {
    const uint64_t begin = begins.at(&tensor);
    start_member();
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", to_json(tensor.name, file),
                          find_stored_type(tensor.dtype)->name, nlohmann::json(tensor.shape).dump(), begin,
                          begin + tensor.bytes);
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > formats::kLargestSafetensorsHeader)
    support::refuse_path(kUnstorable, file, "the header has {} bytes; the format allows {}", header.size(),
                         formats::kLargestSafetensorsHeader);
  return header;
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "files hold tensors as memory does: little-endian");

void SafetensorsFile::Unmap::operator()(const std::byte* start) const {
  ::munmap(const_cast<std::byte*>(start), bytes);
}

SafetensorsFile::SafetensorsFile(const fs::path& file) {
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  const support::FileDescriptor descriptor(
      support::retry_interrupted([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!descriptor.is_open()) throw make_file_error(kUnreadable, file, "cannot be opened", errno);
  struct stat status;
  if (::fstat(descriptor.number(), &status) != 0) throw make_file_error(kUnreadable, file, "cannot be read", errno);
  if (!S_ISREG(status.st_mode)) support::refuse_path(kUnreadable, file, "is not a file; expected a safetensors file");
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  uint64_t header_bytes = 0;
  if (file_bytes < sizeof header_bytes)
    support::refuse_path(kUnreadable, file, "has {} bytes; a safetensors file has at least 8", file_bytes);
  void* start = ::mmap(nullptr, file_bytes, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
  if (start == MAP_FAILED) throw make_file_error(kUnreadable, file, "cannot be mapped into memory", errno);
  mapping_ = {static_cast<const std::byte*>(start), Unmap{file_bytes}};

  std::memcpy(&header_bytes, mapping_.get(), sizeof header_bytes);
  const uint64_t rest = file_bytes - sizeof header_bytes;
  if (header_bytes > formats::kLargestSafetensorsHeader)
    support::refuse_path(kUnreadable, file,
                         "the header's length is {} bytes; expected at most {}; is this a safetensors file?",
                         header_bytes, formats::kLargestSafetensorsHeader);
  if (header_bytes > rest)
    support::refuse_path(kUnreadable, file,
                         "the header's length is {} bytes; the file has only {} after it: it was truncated, or is not "
                         "a safetensors file",
                         header_bytes, rest);
  const std::byte* data = mapping_.get() + sizeof header_bytes + header_bytes;
  const std::string_view text(reinterpret_cast<const char*>(mapping_.get()) + sizeof header_bytes, header_bytes);
  formats::SafetensorsHeader header;
  try {
    header = formats::parse_safetensors_header(text, rest - header_bytes);
  } catch (const std::invalid_argument& error) {
    support::refuse_path(kUnreadable, file, error.what());
  }
  for (auto& entry : header.tensors) {
    places_[entry.name] = tensors_.size();
    tensors_.push_back(
        {std::move(entry.name), entry.dtype, std::move(entry.shape), data + entry.begin, entry.end - entry.begin});
    if (entry.dtype == TENON_BOOL) check_booleans(tensors_.back(), file);
  }
  metadata_ = std::move(header.metadata);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &tensors_[place->second];
}

SafetensorsLayout lay_out_safetensors(const fs::path& file, std::span<const TensorView> tensors,
                                      const Metadata& metadata) {
  check_tensors(tensors, file);
  SafetensorsLayout layout;
  layout.order = order_by_alignment(tensors);
  std::map<const TensorView*, uint64_t> begins;
  for (const TensorView* tensor : layout.order) {
    begins[tensor] = layout.data_bytes;
    layout.data_bytes += tensor->bytes;
  }
  const std::string header = make_header(tensors, begins, metadata, file);
  layout.head = encode_length(header.size()) + header;
  return layout;
}

std::string write_safetensors(const fs::path& file, std::span<const TensorView> tensors, const Metadata& metadata,
                              support::ErrorKind kind, SyncedBy synced_by) {
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

SafetensorsRows::SafetensorsRows(fs::path file, std::vector<RowTensor> tensors, int64_t max_rows, Metadata metadata,
                                 support::ErrorKind kind)
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
