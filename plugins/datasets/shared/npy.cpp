#include "plugins/datasets/shared/npy.h"

#include <charconv>
#include <optional>
#include <string_view>

#include <tenon/plugin.h>
#include <tenon/error.hpp>

#include "framework/formats/stored_types.h"

namespace datasets {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> is_fortran;
  std::optional<std::vector<int64_t>> shape;
};

// Parses the header, a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  // Returns false if the text is something else, or if something follows the literal.
  bool read(Header& header) {
    if (!take("{")) return false;
    while (!take("}")) {
      const std::optional<std::string> key = read_text();
      if (!key || !take(":") || !read_value(*key, header)) return false;
      if (take(",")) continue;
      if (!take("}")) return false;
      break;
    }
    take("");  // blanks
    return rest_.empty() && header.descr && header.is_fortran && header.shape;
  }

 private:
  bool take(std::string_view expected) {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool read_value(const std::string& key, Header& header) {
    if (key == "descr") return (header.descr = read_text()).has_value();
    if (key == "fortran_order") {
      header.is_fortran = take("True");
      return *header.is_fortran || take("False");
    }
    return key == "shape" && (header.shape = read_shape()).has_value();
  }

  std::optional<std::string> read_text() {
    if (!take("'")) return std::nullopt;
    const size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<std::vector<int64_t>> read_shape() {
    if (!take("(")) return std::nullopt;
    std::vector<int64_t> shape;
    while (!take(")")) {
      take("");  // blanks
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) return std::nullopt;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      shape.push_back(extent);
      if (!take(",")) return take(")") ? std::optional(shape) : std::nullopt;
    }
    return shape;
  }

  std::string_view rest_;
};

struct Type {
  std::string_view descr;
  int32_t dtype;
};

constexpr Type kTypes[] = {{"|b1", TENON_BOOL},    {"|u1", TENON_UINT8},   {"|i1", TENON_INT8},
                           {"<i2", TENON_INT16},   {"<i4", TENON_INT32},   {"<i8", TENON_INT64},
                           {"<f2", TENON_FLOAT16}, {"<f4", TENON_FLOAT32}, {"<f8", TENON_FLOAT64}};

int32_t find_dtype(const std::string& descr, const std::string& path) {
  for (const Type& type : kTypes) {
    if (type.descr == descr) return type.dtype;
  }
  // "|O" holds Python objects, and "<U3" texts.
  const bool holds_names = descr.size() > 1 && (descr[1] == 'O' || descr[1] == 'U' || descr[1] == 'S');
  throw tenon::DataError(path + ": holds elements of type \"" + descr +
                         "\"; expected bool, uint8, int8 to int64 or float16 to float64, little-endian; " +
                         (holds_names ? "number the classes, for example with numpy.unique(array, return_inverse=True)"
                                      : "convert it with numpy's astype"));
}

constexpr size_t kVersionEnd = kMagic.size() + 2;
constexpr uint64_t kMaxHeader = uint64_t{64} << 10;

// The header's length follows magic and version, in two bytes, or in four from version 2 on.
size_t length_bytes(std::span<const uint8_t> beginning) { return beginning[kMagic.size()] == 1 ? 2 : 4; }

void check_version(std::span<const uint8_t> beginning, const std::string& path) {
  const int major = beginning[kMagic.size()], minor = beginning[kMagic.size() + 1];
  if (major >= 1 && major <= 3 && minor == 0) return;
  throw tenon::DataError(path + ": has version " + std::to_string(major) + '.' + std::to_string(minor) +
                         " of the .npy format; expected 1.0, 2.0 or 3.0; save the array again with numpy.save");
}

}  // namespace

bool is_npy(std::span<const uint8_t> file) {
  return std::string_view(reinterpret_cast<const char*>(file.data()), file.size()).starts_with(kMagic);
}

uint64_t npy_data_offset(std::span<const uint8_t> beginning, uint64_t size, const std::string& path) {
  if (!is_npy(beginning)) {
    throw tenon::DataError(path + ": does not begin like a .npy file; expected a file from numpy.save");
  }
  if (beginning.size() >= kVersionEnd) check_version(beginning, path);
  const size_t digits = beginning.size() > kVersionEnd ? length_bytes(beginning) : 0;
  if (digits == 0 || beginning.size() < kVersionEnd + digits) {
    throw tenon::DataError(path + ": ends within its header; it was cut off");
  }
  uint64_t end = 0;
  for (size_t i = digits; i > 0; --i) end = end << 8 | beginning[kVersionEnd + i - 1];
  end += kVersionEnd + digits;
  if (end > size) throw tenon::DataError(path + ": ends within its header; it was cut off");
  if (end <= kMaxHeader) return end;
  throw tenon::DataError(path + ": has a header of " + std::to_string(end) + " bytes; expected " +
                         std::to_string(kMaxHeader) + " at most");
}

NpyHeader read_npy_header(std::span<const uint8_t> beginning, uint64_t size, const std::string& path) {
  const uint64_t data_offset = npy_data_offset(beginning, size, path);
  const size_t text_begin = kVersionEnd + length_bytes(beginning);
  const auto text = beginning.subspan(text_begin, data_offset - text_begin);
  Header header;
  if (!HeaderReader({reinterpret_cast<const char*>(text.data()), text.size()}).read(header)) {
    throw tenon::DataError(path + ": has an unreadable header; expected an array of numbers from numpy.save");
  }
  const int32_t dtype = find_dtype(*header.descr, path);
  if (*header.is_fortran && header.shape->size() > 1) {
    throw tenon::DataError(path +
                           ": is in Fortran order; expected C order (the last index changes fastest); save "
                           "numpy.ascontiguousarray(array)");
  }
  if (formats::count_bytes(*header.shape, formats::find_stored_type(dtype)->bytes) != size - data_offset) {
    throw tenon::DataError(path + ": holds " + std::to_string(size - data_offset) +
                           " bytes after its header, which does not match its shape; it was cut off or damaged");
  }
  return {dtype, *header.shape, data_offset};
}

}  // namespace datasets
