#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <tenon/plugin.h>
#include <tenon/error.hpp>

#include "plugins/datasets/arrays/array.h"

namespace arrays {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> is_fortran;
  std::optional<std::vector<int64_t>> shape;
};

// The Python literal that is the header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  // False: the text is something else.
  bool read(Header& header) {
    if (!take("{")) return false;
    while (!take("}")) {
      const std::optional<std::string> key = read_text();
      if (!key || !take(":") || !read_value(*key, header)) return false;
      if (!take(",")) return take("}") && is_complete(header);
    }
    return is_complete(header);
  }

 private:
  static bool is_complete(const Header& header) { return header.descr && header.is_fortran && header.shape; }

  bool take(std::string_view wanted) {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
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

std::optional<int32_t> dtype_named(std::string_view descr) {
  constexpr std::array<std::pair<std::string_view, int32_t>, 9> kKnown = {{{"|b1", TENON_BOOL},
                                                                           {"|u1", TENON_UINT8},
                                                                           {"|i1", TENON_INT8},
                                                                           {"<i2", TENON_INT16},
                                                                           {"<i4", TENON_INT32},
                                                                           {"<i8", TENON_INT64},
                                                                           {"<f2", TENON_FLOAT16},
                                                                           {"<f4", TENON_FLOAT32},
                                                                           {"<f8", TENON_FLOAT64}}};
  for (const auto& [name, dtype] : kKnown) {
    if (name == descr) return dtype;
  }
  return std::nullopt;
}

// Behind magic and version: the header's length in two bytes, from version 2 on in four.
struct Parts {
  std::string_view header;
  Bytes elements;
};

Parts split(Bytes file, const std::string& path) {
  constexpr size_t kVersion = 6;
  const size_t length_bytes = file.size() > kVersion && file[kVersion] == 1 ? 2 : 4;
  const size_t begin = kMagic.size() + 2 + length_bytes;
  size_t length = 0;
  if (begin <= file.size()) {
    for (size_t i = length_bytes; i > 0; --i) length = length << 8 | file[kMagic.size() + 2 + i - 1];
  }
  if (begin > file.size() || length > file.size() - begin) {
    throw tenon::DataError(path + ": ends within its header; it was cut off");
  }
  return {{reinterpret_cast<const char*>(file.data()) + begin, length}, file.subspan(begin + length)};
}

bool has_size(const std::vector<int64_t>& shape, size_t element, size_t bytes) {
  for (const int64_t extent : shape) {
    if (extent == 0) return bytes == 0;
  }
  size_t size = element;
  for (const int64_t extent : shape) {
    if (size > bytes / static_cast<size_t>(extent)) return false;
    size *= static_cast<size_t>(extent);
  }
  return size == bytes;
}

}  // namespace

bool is_npy(Bytes file) {
  return std::string_view(reinterpret_cast<const char*>(file.data()), file.size()).starts_with(kMagic);
}

Array read_npy(Bytes file, const std::string& path, const std::string& name) {
  if (!is_npy(file)) throw tenon::DataError(path + ": does not begin as a .npy file does; expected one of numpy.save");
  const Parts parts = split(file, path);
  Header header;
  if (!HeaderReader(parts.header).read(header)) {
    throw tenon::DataError(path + ": has a header that cannot be read; expected an array of numbers from numpy.save");
  }
  const std::optional<int32_t> dtype = dtype_named(*header.descr);
  if (!dtype) {
    throw tenon::DataError(path + ": holds elements of type \"" + *header.descr +
                           "\"; expected bool, uint8, int8 to int64 or float16 to float64, little-endian; convert it "
                           "with numpy's astype");
  }
  if (*header.is_fortran && header.shape->size() > 1) {
    throw tenon::DataError(path +
                           ": is in Fortran order, sample beside sample; expected one sample after the other; "
                           "save numpy.ascontiguousarray of it");
  }
  if (!has_size(*header.shape, size_of_element(*dtype), parts.elements.size())) {
    throw tenon::DataError(path + ": holds " + std::to_string(parts.elements.size()) +
                           " bytes behind its header, which are not those of its shape; it was cut off or damaged");
  }
  return {name, *dtype, *header.shape, parts.elements, path};
}

}  // namespace arrays
