#include <doctest/doctest.h>
#include <tenon/abi.h>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

namespace {

std::string format_length(uint64_t length) {
  const auto bytes = std::bit_cast<std::array<char, 8>>(length);
  return std::string(bytes.data(), bytes.size());
}

std::string make_file(const std::string& header, size_t data_bytes) {
  return format_length(header.size()) + header + std::string(data_bytes, '\0');
}

// Returns a file with one tensor "w" of eight bytes and this text in its JSON object.
std::string make_tensor(const std::string& facts) { return make_file("{\"w\":{" + facts + "}}", 8); }

struct Hostile {
  std::string what;
  std::string bytes;
  std::string message;  // part of the expected message
};

std::vector<Hostile> make_hostile_files() {
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const std::string type = R"("dtype":"F32",)";
  const auto shaped = [&](const std::string& shape, const std::string& offsets) {
    return make_tensor(type + "\"shape\":" + shape + ",\"data_offsets\":" + offsets);
  };
  std::string many_ones;
  for (int i = 0; i < 64; ++i) many_ones += ",1";
  const auto two = [&](const std::string& first, const std::string& second, size_t bytes) {
    return make_file("{\"a\":{" + type + "\"shape\":[2],\"data_offsets\":" + first + "},\"b\":{" + type +
                         "\"shape\":[2],\"data_offsets\":" + second + "}}",
                     bytes);
  };
  return {
      // Header length.
      {"an empty file", "", "has 0 bytes"},
      {"a file of seven bytes", "\1\1\1\1\1\1\1", "has 7 bytes"},
      {"a header longer than the file", format_length(100) + "{}", "the file has only 2 after it"},
      {"a header of 100 MB and one byte", format_length(100'000'001) + "{}", "expected at most 100000000"},
      {"a header of 2^64 - 1 bytes", format_length(UINT64_MAX) + "{}", "expected at most 100000000"},
      {"a header of 2^63 bytes", format_length(uint64_t{1} << 63) + "{}", "expected at most 100000000"},
      {"a header without bytes", format_length(0), "does not start with {"},
      // JSON syntax.
      {"a pickle", std::string("\x80\x02}q\x00.\x00\x00\x00\x00\x00\x00", 12), "expected at most"},
      {"blanks before the header", make_file(" {}", 0), "does not start with {"},
      {"a byte order mark", make_file("\xEF\xBB\xBF{}", 0), "does not start with {"},
      {"a list for a header", make_file("[]", 0), "does not start with {"},
      {"a name of more than 1 MiB", make_file("{\"" + std::string(1048577, 'w') + "\":{}}", 0),
       "has 1048577 bytes; expected"},
      {"half a header", make_file("{\"w\":{", 0), "is not JSON, at byte"},
      {"text after the header", make_file("{} {}", 0), "is not JSON, at byte"},
      {"a zero byte and more after the header", make_file(std::string("{}\0\"", 4), 0), "at byte 3: a zero byte"},
      {"a name that is not UTF-8", make_file("{\"\xFF\":{}}", 0), "is not JSON, at byte"},
      {"half a surrogate", make_file(R"({"\ud800":{}})", 0), "is not JSON, at byte"},
      {"a comment", make_file("{/**/}", 0), "is not JSON, at byte"},
      {"NaN", make_file("{\"w\":NaN}", 0), "is not JSON, at byte"},
      {"deep nesting", make_file("{\"w\":" + std::string(1'000'000, '['), 0), "tensor \"w\" is a list"},
      {"deep objects", make_file("{\"w\":{\"shape\":{\"a\":{", 0), "shape is an object; expected a list"},
      {"a number of a thousand digits", shaped("[" + std::string(1000, '9') + "]", "[0,8]"), "number overflow"},
      {"a number of thirty digits", shaped("[" + std::string(30, '9') + "]", "[0,8]"), "shape holds 999"},
      // Names.
      {"a tensor twice", make_file("{\"w\":{" + good + "},\"w\":{" + good + "}}", 8), "the name \"w\" occurs twice"},
      {"a name twice, once escaped", make_file("{\"w\":{" + good + "},\"\\u0077\":{" + good + "}}", 8), "occurs twice"},
      {"metadata twice", make_file(R"({"__metadata__":{},"__metadata__":{}})", 0), "occurs twice"},
      {"a metadata key twice", make_file(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "__metadata__ has \"a\" twice"},
      {"metadata that is not a string", make_file(R"({"__metadata__":{"a":1}})", 0), "\"a\" is 1; expected a string"},
      {"metadata that is a list", make_file(R"({"__metadata__":["a"]})", 0), "__metadata__ is a list"},
      {"metadata within metadata", make_file(R"({"__metadata__":{"a":{}}})", 0),
       "\"a\" is an object; expected a string"},
      // Keys of a tensor.
      {"a tensor that is a number", make_file("{\"w\":1}", 0), "tensor \"w\" is 1; expected an object"},
      {"a tensor that is null", make_file("{\"w\":null}", 0), "tensor \"w\" is null; expected an object"},
      {"no dtype", make_tensor(R"("shape":[2],"data_offsets":[0,8])"), "tensor \"w\" has no dtype"},
      {"no shape", make_tensor(R"("dtype":"F32","data_offsets":[0,8])"), "tensor \"w\" has no shape"},
      {"no offsets", make_tensor(R"("dtype":"F32","shape":[2])"), "tensor \"w\" has no data_offsets"},
      {"an unknown key", make_tensor(good + R"(,"strides":[1])"), "unknown key \"strides\""},
      {"a dtype twice", make_tensor(type + good), "tensor \"w\" has dtype twice"},
      {"a shape twice", make_tensor(good + ",\"shape\":[2]"), "tensor \"w\" has shape twice"},
      {"an unknown dtype", make_tensor(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"),
       "dtype is \"F33\"; expected F64"},
      {"a dtype in small letters", make_tensor(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])"),
       "dtype is \"f32\""},
      {"a complex dtype", make_tensor(R"("dtype":"C64","shape":[1],"data_offsets":[0,8])"),
       "complex tensors are not supported"},
      {"a dtype that is a number", make_tensor(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"),
       "dtype is 32; expected a string"},
      // Shapes.
      {"a shape that is a number", shaped("2", "[0,8]"), "shape is 2; expected a list"},
      {"a negative size", shaped("[-2]", "[0,8]"), "shape holds -2"},
      {"two negative sizes", shaped("[-1,-2]", "[0,8]"), "shape holds -1"},
      {"a size with a fraction", shaped("[2.0]", "[0,8]"), "shape holds 2.0"},
      {"a size that is text", shaped("[\"2\"]", "[0,8]"), "shape holds \"2\""},
      {"a size beyond 2^63", shaped("[9223372036854775808]", "[0,8]"), "shape holds 9223372036854775808"},
      {"a list in the shape", shaped("[[2]]", "[0,8]"), "shape holds a list"},
      {"sizes that overflow to 2 elements", shaped("[4294967296,4294967296,2]", "[0,8]"), "more elements than memory"},
      {"bytes that overflow to 8", shaped("[4611686018427387906]", "[0,8]"), "more elements than memory"},
      {"an overflow hidden by a zero", shaped("[9223372036854775807,9223372036854775807,0]", "[0,0]"), "more elements"},
      {"65 dimensions", shaped("[1" + many_ones + "]", "[0,4]"), "more than 64 dimensions"},
      {"a shape smaller than its bytes", shaped("[1]", "[0,8]"), "span 8 bytes; expected 4"},
      {"a shape larger than its bytes", shaped("[3]", "[0,8]"), "span 8 bytes; expected 12"},
      // Offsets.
      {"offsets that are a number", shaped("[2]", "8"), "data_offsets is 8; expected a list"},
      {"one offset", shaped("[2]", "[8]"), "data_offsets has 1 numbers"},
      {"three offsets", shaped("[2]", "[0,8,8]"), "data_offsets has more than 2 numbers"},
      {"a negative offset", shaped("[2]", "[-8,0]"), "data_offsets holds -8"},
      {"offsets that run backwards", shaped("[2]", "[8,0]"), "run from 8 back to 0"},
      {"offsets beyond the file", shaped("[4]", "[0,16]"), "are 0 to 16; the file holds 8 bytes of data"},
      {"offsets near 2^63", shaped("[2]", "[9223372036854775799,9223372036854775807]"),
       "the file holds 8 bytes of data"},
      {"offsets beyond 2^63", shaped("[2]", "[0,18446744073709551615]"), "data_offsets holds 18446744073709551615"},
      {"tensors that share bytes", two("[0,8]", "[4,12]", 12),
       "tensor \"b\": data_offsets are 4 to 12; expected to begin at 8"},
      {"tensors that share all bytes", two("[0,8]", "[0,8]", 8), "(they overlap)"},
      {"a gap between tensors", two("[0,8]", "[12,20]", 20), "expected to begin at 8 (there is a gap)"},
      {"a gap before the first", two("[4,12]", "[12,20]", 20), "expected to begin at 0 (there is a gap)"},
      {"bytes after the last", two("[0,8]", "[8,16]", 20), "the tensors end at byte 16 of the data; expected 20"},
      {"bytes without tensors", make_file("{}", 1), "the tensors end at byte 0 of the data; expected 1"},
      {"an empty tensor outside", make_file(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[5,5]}})", 0),
       "holds 0 bytes"},
      {"a boolean that is 7", make_file(R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 0) + "\1\7",
       "element 1 of type BOOL is 7; expected 0 or 1"},
  };
}

}  // namespace

TEST_CASE("each hostile file is refused with its name and the reason") {
  const Scratch scratch;
  const auto file = scratch / "hostile.safetensors";
  for (const auto& hostile : make_hostile_files()) {
    CAPTURE(hostile.what);
    write_all(file, hostile.bytes);
    const std::string message = find_error(ErrorKind::checkpoint, [&] { SafetensorsFile reader(file); });
    CAPTURE(message);
    CHECK(message.starts_with(file.string() + ": "));
    CHECK(contains(message, hostile.message));
    CHECK(message.size() < 600);
  }
}

TEST_CASE("a path that is not a regular file is refused without blocking") {
  const Scratch scratch;
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(scratch / "folder");
  const auto read = [&](const std::string& name) {
    return find_error(ErrorKind::checkpoint, [&] { SafetensorsFile reader(scratch / name); });
  };
  CHECK(contains(read("pipe"), "pipe: is not a file"));
  CHECK(contains(read("folder"), "folder: is not a file"));
  CHECK(contains(read("missing"), "missing: cannot be opened: No such file or directory"));
}

TEST_CASE("a file truncated anywhere is refused") {
  const Scratch scratch;
  const std::string whole = make_file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t size = 0; size < whole.size(); ++size) {
    write_all(scratch / "cut", whole.substr(0, size));
    CAPTURE(size);
    CHECK(find_error(ErrorKind::checkpoint, [&] { SafetensorsFile reader(scratch / "cut"); }) != "accepted");
  }
}

TEST_CASE("a randomly damaged file is refused or has tensors within the file") {
  const Scratch scratch;
  const std::string good =
      make_file(R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                R"("b":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}})",
                9);
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (unsigned damage = random() % 4 + 1; damage > 0; --damage) {
      const size_t place = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[place] = static_cast<char>(random() % 256); break;
        case 1: bytes.erase(place, 1); break;
        case 2: bytes.insert(place, 1, "0123456789[]{},:\" "[random() % 18]); break;
        default: bytes[place] = "0123456789[]{},:\" "[random() % 18];
      }
    }
    write_all(scratch / "a", bytes);
    try {
      const SafetensorsFile file(scratch / "a");
      ++accepted;
      uint64_t sum = 0, covered = 0;
      for (const auto& tensor : file.tensors()) {
        covered += tensor.bytes;
        for (uint64_t i = 0; i < tensor.bytes; ++i) sum += std::to_integer<uint64_t>(tensor.data[i]);
      }
      CHECK(covered < bytes.size());
      CHECK(sum <= 255 * covered);
    } catch (const support::Error& error) {
      CHECK(error.kind() == ErrorKind::checkpoint);
    }
  }
  CHECK(accepted > 0);
  CHECK(accepted < 3000);
}

}  // namespace tenon::artifacts
