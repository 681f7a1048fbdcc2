#include "framework/packing/shard_files.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

#include "framework/support/diagnostics/error.h"
#include "tests/messages.h"

using namespace tenon;
using packing::FieldFile;

namespace {

FieldFile choose(const std::string& name, int32_t dtype, std::vector<int64_t> shape) {
  return packing::choose_file({name, dtype, std::move(shape), 1, 1});
}

template <class T>
std::string encode(const FieldFile& file, int32_t dtype, const std::vector<int64_t>& shape,
                   const std::vector<T>& elements) {
  std::vector<std::byte> bytes;
  packing::encode(file, dtype, shape, std::as_bytes(std::span(elements)), bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string refusal(const std::string& name, int32_t dtype, size_t dimensions = 0) {
  return find_error(support::ErrorKind::configuration,
                    [&] { choose(name, dtype, std::vector<int64_t>(dimensions, 1)); });
}

}  // namespace

TEST_CASE("the dtype and shape of a field determine its file format") {
  CHECK(choose("image", TENON_UINT8, {4, 5, 3}).extension == "image.png");
  CHECK(choose("image", TENON_UINT8, {-1, -1, 3}).extension == "image.png");
  CHECK(choose("image", TENON_UINT8, {4, 5, 1}).extension == "image.npy");
  CHECK(choose("image", TENON_FLOAT32, {4, 5, 3}).extension == "image.npy");
  CHECK(choose("label", TENON_INT64, {}).extension == "label.cls");
  CHECK(choose("label", TENON_INT64, {1}).extension == "label.npy");
  CHECK(choose("label", TENON_INT32, {}).extension == "label.npy");
  CHECK(refusal("x", TENON_BFLOAT16) ==
        "the field \"x\" cannot be packed: NumPy has no bfloat16; expected bool, uint8, int8 to int64 or float16 to "
        "float64");
  CHECK(choose("x", TENON_FLOAT32, std::vector<int64_t>(64, 1)).extension == "x.npy");
  CHECK(refusal("x", TENON_FLOAT32, 65) ==
        "the field \"x\" cannot be packed: it has 65 dimensions; NumPy reads at most 64; reshape it in its dataset");
  CHECK(refusal("a/b", TENON_FLOAT32).find("a slash in the name would start a folder") != std::string::npos);
}

TEST_CASE("a label is decimal digits") {
  const FieldFile file = choose("label", TENON_INT64, {});
  CHECK(encode<int64_t>(file, TENON_INT64, {}, {-42}) == "-42");
  CHECK(encode<int64_t>(file, TENON_INT64, {}, {INT64_MIN}) == "-9223372036854775808");
}

TEST_CASE("an array has the bytes of numpy.save") {
  const FieldFile file = choose("x", TENON_FLOAT32, {2, 1});
  const std::string text = encode<float>(file, TENON_FLOAT32, {2, 1}, {1, 2});
  CHECK(text.size() == 128 + 8);
  CHECK(text.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(text.substr(10, 60) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), } ");
  CHECK(text[127] == '\n');
  CHECK(contains(encode<uint8_t>(file, TENON_BOOL, {3}, {1, 0, 1}),
                 "'descr': '|b1', 'fortran_order': False, 'shape': (3,), }"));
  CHECK(contains(encode<int16_t>(file, TENON_INT16, {}, {5}), "'<i2', 'fortran_order': False, 'shape': (), }"));
}

TEST_CASE("an image without pixels is refused") {
  const FieldFile file = choose("image", TENON_UINT8, {-1, -1, 3});
  CHECK_THROWS_WITH_AS(encode<uint8_t>(file, TENON_UINT8, {0, 2, 3}, {}),
                       "an image of 2 x 0 pixels cannot be a PNG: expected at least one pixel", support::Error);
}
