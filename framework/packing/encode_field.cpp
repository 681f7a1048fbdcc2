#include "framework/packing/encode_field.h"

#include <tenon/abi.h>

#include <bit>
#include <cstring>

#include "framework/artifacts/drawing/encode_png.h"
#include "framework/components/calls/ports.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::packing {

static_assert(std::endian::native == std::endian::little, "elements are written to little-endian files as they are");

namespace {

using Format = FieldFile::Format;

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
  std::string extents;
  for (const int64_t extent : shape) extents += std::to_string(extent) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string text =
      std::string("{'descr': '") + numpy_name(dtype) + "', 'fortran_order': False, 'shape': (" + extents + "), }";
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

FieldFile choose_file(const data::Field& field) {
  using support::Error;
  using support::ErrorKind;
  if (field.name.find('/') != field.name.npos)
    throw Error(ErrorKind::configuration, "the field \"" + field.name +
                                              "\" cannot be packed: a slash in the name would start a folder in the "
                                              "shard; rename the field in its dataset");
  if (!numpy_name(field.dtype))
    throw Error(ErrorKind::configuration, "the field \"" + field.name + "\" cannot be packed: NumPy has no " +
                                              components::dtype_name(field.dtype) +
                                              "; expected bool, uint8, int8 to int64 or float16 to float64");
  if (field.shape.size() > kMostNpyDimensions)
    throw Error(ErrorKind::configuration, "the field \"" + field.name + "\" cannot be packed: it has " +
                                              std::to_string(field.shape.size()) + " dimensions; NumPy reads at most " +
                                              std::to_string(kMostNpyDimensions) + "; reshape it in its dataset");
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
