#include "framework/packing/shard_files.h"

#include <tenon/abi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "framework/artifacts/files/encode.h"
#include "framework/components/calls/ports.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::packing {

namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxName = 100;
constexpr uint64_t kMaxSize = (uint64_t{1} << 33) - 1;  // eleven octal digits

using Format = FieldFile::Format;
using Header = std::array<char, kBlock>;

uint64_t round_up(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

void put_octal(Header& header, size_t at, size_t digits, uint64_t number) {
  for (size_t i = digits; i > 0; --i, number >>= 3) header[at + i - 1] = static_cast<char>('0' + (number & 7));
}

Header make_header(const std::string& name, uint64_t size, char type) {
  Header header = {};
  std::copy_n(name.data(), std::min(name.size(), kMaxName), header.data());
  put_octal(header, 100, 7, 0644);
  put_octal(header, 108, 7, 0);  // user
  put_octal(header, 116, 7, 0);  // group
  put_octal(header, 124, 11, size);
  put_octal(header, 136, 11, 0);  // time
  header[156] = type;
  std::memcpy(&header[257],
              "ustar\0"
              "00",
              8);
  std::memset(&header[148], ' ', 8);
  uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_octal(header, 148, 6, sum);
  header[154] = '\0';
  return header;
}

// Returns `LENGTH path=NAME\n`. LENGTH is the number of all bytes, including its digits.
std::string make_path_record(const std::string& name) {
  const std::string rest = " path=" + name + "\n";
  size_t length = rest.size();
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

constexpr size_t kMostNpyDimensions = 64;  // since NumPy 2.0; 32 before

// Returns the NumPy name of a dtype, or null if there is none.
const char* numpy_name(int32_t dtype) {
  switch (dtype) {
    case TENON_BOOL: return "|b1";
    case TENON_UINT8: return "|u1";
    case TENON_INT8: return "|i1";
    case TENON_INT16: return "<i2";
    case TENON_INT32: return "<i4";
    case TENON_INT64: return "<i8";
    case TENON_FLOAT16: return "<f2";
    case TENON_FLOAT32: return "<f4";
    case TENON_FLOAT64: return "<f8";
    default: return nullptr;
  }
}

bool is_image(const data::Field& field) {
  return field.dtype == TENON_UINT8 && field.shape.size() == 3 && field.shape.back() == 3;
}

std::string npy_header(int32_t dtype, std::span<const int64_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", numpy_name(dtype),
                                 formats::join(shape), shape.size() == 1 ? "," : "");
  // The elements start at a multiple of 64 bytes.
  constexpr size_t kBefore = 10;
  text.resize((kBefore + text.size()) / 64 * 64 + 64 - kBefore - 1, ' ');
  text += '\n';
  TENON_CHECK(text.size() <= 0xFFFF, text.size() << " bytes");
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size() & 0xFF) +
         static_cast<char>(text.size() >> 8) + text;
}

void put(const std::string& text, std::vector<std::byte>& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  bytes.assign(begin, begin + text.size());
}

}  // namespace

uint64_t count_member_bytes(const std::string& name, uint64_t size) {
  const uint64_t extended = name.size() > kMaxName ? kBlock + round_up(make_path_record(name).size()) : 0;
  return extended + kBlock + round_up(size);
}

void TarWriter::add(const std::string& name, std::span<const std::byte> content) {
  if (content.size() > kMaxSize)
    throw support::Error(support::ErrorKind::data,
                         "the file {} of a sample has {} bytes; expected less than 8 GiB, the limit of tar", name,
                         content.size());
  if (name.size() > kMaxName) add_entry("pax", std::as_bytes(std::span<const char>(make_path_record(name))), 'x');
  add_entry(name, content, '0');
}

void TarWriter::add_entry(const std::string& name, std::span<const std::byte> content, char type) {
  const Header header = make_header(name, content.size(), type);
  file_.write(std::as_bytes(std::span(header)));
  file_.write(content);
  bytes_ += kBlock + content.size();
  pad();
}

void TarWriter::pad() {
  static constexpr std::array<std::byte, kBlock> kZeros = {};
  const size_t missing = round_up(bytes_) - bytes_;
  file_.write(std::span(kZeros).first(missing));
  bytes_ += missing;
}

void TarWriter::finish() {
  static constexpr std::array<std::byte, 2 * kBlock> kEnd = {};
  file_.write(kEnd);
  bytes_ += kEnd.size();
  file_.commit();
}

static_assert(std::endian::native == std::endian::little, "elements are written to little-endian files as they are");

FieldFile choose_file(const data::Field& field) {
  using support::Error;
  using support::ErrorKind;
  if (field.name.find('/') != field.name.npos)
    throw Error(ErrorKind::configuration,
                "the field \"{}\" cannot be packed: a slash in the name would start a folder in the shard; rename the "
                "field in its dataset",
                field.name);
  if (!numpy_name(field.dtype))
    throw Error(ErrorKind::configuration,
                "the field \"{}\" cannot be packed: NumPy has no {}; expected bool, uint8, int8 to int64 or float16 to "
                "float64",
                field.name, components::dtype_name(field.dtype));
  if (field.shape.size() > kMostNpyDimensions)
    throw Error(ErrorKind::configuration,
                "the field \"{}\" cannot be packed: it has {} dimensions; NumPy reads at most {}; reshape it in its "
                "dataset",
                field.name, field.shape.size(), kMostNpyDimensions);
  if (is_image(field)) return {Format::png, field.name + ".png"};
  if (field.dtype == TENON_INT64 && field.shape.empty()) return {Format::cls, field.name + ".cls"};
  return {Format::npy, field.name + ".npy"};
}

void encode(const FieldFile& file, int32_t dtype, std::span<const int64_t> shape, std::span<const std::byte> elements,
            std::vector<std::byte>& bytes) {
  if (file.format == Format::png) return artifacts::encode_png(elements, shape[0], shape[1], 3, bytes);
  if (file.format == Format::cls) {
    int64_t number = 0;
    TENON_CHECK(elements.size() == sizeof number, elements.size() << " bytes");
    std::memcpy(&number, elements.data(), sizeof number);
    return put(std::to_string(number), bytes);
  }
  put(npy_header(dtype, shape), bytes);
  bytes.insert(bytes.end(), elements.begin(), elements.end());
}

}  // namespace tenon::packing
