#include "framework/artifacts/checkpoint/safetensors.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <tenon/abi.h>

#include <cstdint>
#include <cstring>
#include <random>

#include "file_size_limit.h"
#include "framework/support/digests/xxh128.h"
#include "scratch.h"

namespace tenon::artifacts {

using support::ErrorKind;

namespace {

constexpr int32_t kTypes[] = {TENON_FLOAT64, TENON_FLOAT32, TENON_FLOAT16, TENON_BFLOAT16, TENON_INT64,
                              TENON_INT32,   TENON_INT16,   TENON_INT8,    TENON_UINT8,    TENON_BOOL};

// Tensors that own their bytes.
struct Tensors {
  std::vector<std::vector<std::byte>> storage;
  std::vector<TensorView> views;

  void add(std::string name, int32_t dtype, std::vector<int64_t> shape) {
    const uint64_t bytes = count_bytes(shape, find_stored_type(dtype)->bytes).value();
    auto& memory = storage.emplace_back(bytes);
    for (auto& value : memory) value = static_cast<std::byte>(dtype == TENON_BOOL ? random() % 2 : random() % 256);
    views.push_back({std::move(name), dtype, std::move(shape), memory.data(), bytes});
  }
  std::mt19937 random{1};
};

void check_equal(const std::vector<TensorView>& found, const std::vector<TensorView>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].name == expected[i].name);
    CHECK(found[i].dtype == expected[i].dtype);
    CHECK(found[i].shape == expected[i].shape);
    REQUIRE(found[i].bytes == expected[i].bytes);
    const bool is_same = found[i].bytes == 0 || std::memcmp(found[i].data, expected[i].data, found[i].bytes) == 0;
    CHECK(is_same);
  }
}

}  // namespace

TEST_CASE("every dtype and shape is read back unchanged, in the same order") {
  const Scratch scratch;
  Tensors tensors;
  for (const int32_t dtype : kTypes) {
    const std::string type(find_stored_type(dtype)->name);
    tensors.add(type + ".scalar", dtype, {});
    tensors.add(type + ".empty", dtype, {0});
    tensors.add(type + ".empty_3d", dtype, {2, 0, 3});
    tensors.add(type + ".odd", dtype, {3});
    tensors.add(type + ".conv", dtype, {4, 3, 5, 5});
  }
  write_safetensors(scratch / "a", tensors.views, {}, ErrorKind::checkpoint);
  const SafetensorsFile file(scratch / "a");
  check_equal(file.tensors(), tensors.views);
  CHECK(file.metadata().empty());
}

TEST_CASE("names of any length and script and the metadata are read back unchanged") {
  const Scratch scratch;
  Tensors tensors;
  for (const std::string& name : {std::string("layers.0.weight"), std::string(100'000, 'n'), std::string(""),
                                  std::string("Gewicht_\xC3\xA4\xE5\xB1\xA4\xF0\x9F\x94\xA5"),
                                  std::string("quote\" back\\ \n\t"), std::string("zero\0byte", 9)}) {
    tensors.add(name, TENON_FLOAT32, {2});
  }
  const Metadata metadata = {{"format", "pt"}, {"", ""}, {"\xC3\xA4\"", "line\nbreak"}};
  write_safetensors(scratch / "a", tensors.views, metadata, ErrorKind::checkpoint);
  const SafetensorsFile file(scratch / "a");
  check_equal(file.tensors(), tensors.views);
  CHECK(file.metadata() == metadata);
  REQUIRE(file.find("layers.0.weight"));
  CHECK(file.find("layers.0.weight")->data == file.tensors()[0].data);
  CHECK(file.find("layers.0.bias") == nullptr);
}

TEST_CASE("a file without tensors is valid") {
  const Scratch scratch;
  write_safetensors(scratch / "a", {}, {}, ErrorKind::checkpoint);
  CHECK(read_all(scratch / "a") == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  CHECK(SafetensorsFile(scratch / "a").tensors().empty());
}

TEST_CASE("the header is padded to eight bytes and every tensor is aligned to its elements") {
  const Scratch scratch;
  for (size_t length = 1; length <= 8; ++length) {
    Tensors tensors;
    tensors.add(std::string(length, 'a'), TENON_BOOL, {3});
    tensors.add("b", TENON_FLOAT32, {1});
    tensors.add("c", TENON_INT64, {});
    tensors.add("d", TENON_FLOAT16, {5});
    write_safetensors(scratch / "a", tensors.views, {}, ErrorKind::checkpoint);
    const SafetensorsFile file(scratch / "a");
    check_equal(file.tensors(), tensors.views);
    for (const auto& tensor : file.tensors()) {
      CHECK(reinterpret_cast<uintptr_t>(tensor.data) % find_stored_type(tensor.dtype)->bytes == 0);
    }
  }
}

TEST_CASE("equal tensors make equal files") {
  const Scratch scratch;
  Tensors tensors;
  tensors.add("w", TENON_FLOAT32, {4, 4});
  tensors.add("n", TENON_INT64, {});
  write_safetensors(scratch / "a", tensors.views, {{"format", "pt"}}, ErrorKind::checkpoint);
  write_safetensors(scratch / "b", tensors.views, {{"format", "pt"}}, ErrorKind::checkpoint);
  CHECK(read_all(scratch / "a") == read_all(scratch / "b"));
}

TEST_CASE("the bytes of a small file are those of the format") {
  const Scratch scratch;
  const float value = 1.5f;
  const TensorView tensor{"w", TENON_FLOAT32, {1}, reinterpret_cast<const std::byte*>(&value), 4};
  write_safetensors(scratch / "a", {&tensor, 1}, {{"k", "v"}}, ErrorKind::checkpoint);
  const std::string header = R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  REQUIRE(header.size() == 79);
  CHECK(read_all(scratch / "a") ==
        std::string("\x50\0\0\0\0\0\0\0", 8) + header + " " + std::string("\0\0\xC0\x3F", 4));
}

TEST_CASE("tensors that cannot be stored are refused before the file is touched") {
  const Scratch scratch;
  const std::byte bytes[64]{};
  const auto refuse = [&](std::vector<TensorView> tensors, const Metadata& metadata = {}) {
    return find_error(ErrorKind::internal,
                      [&] { write_safetensors(scratch / "a", tensors, metadata, ErrorKind::checkpoint); });
  };
  CHECK(contains(refuse({{"w", TENON_COMPLEX64, {2}, bytes, 16}}), "complex tensors are not supported"));
  CHECK(contains(refuse({{"w", 99, {2}, bytes, 16}}), "tensor \"w\": its type (99) cannot be stored"));
  CHECK(contains(refuse({{"w", TENON_FLOAT32, {2}, bytes, 4}}), "tensor \"w\" has 4 bytes; expected 8"));
  CHECK(contains(refuse({{"w", TENON_FLOAT32, {-2}, bytes, 8}}), "expected a possible shape"));
  CHECK(contains(refuse({{"w", TENON_UINT8, {1}, bytes, 1}, {"w", TENON_UINT8, {1}, bytes, 1}}), "\"w\" occurs twice"));
  CHECK(contains(refuse({{"__metadata__", TENON_UINT8, {1}, bytes, 1}}), "reserves this name"));
  CHECK(contains(refuse({{"\xFF", TENON_UINT8, {1}, bytes, 1}}), "is not UTF-8"));
  CHECK(contains(refuse({}, {{"k", "\xFF"}}), "is not UTF-8"));
  CHECK(list_names(scratch.path()).empty());
}

TEST_CASE("a partial write leaves the earlier file") {
  const Scratch scratch;
  Tensors small, large;
  small.add("w", TENON_FLOAT32, {2});
  large.add("w", TENON_FLOAT32, {20000});
  write_safetensors(scratch / "a", small.views, {}, ErrorKind::checkpoint);
  std::string message;
  {
    const FileSizeLimit limit(5000);
    message = find_error(ErrorKind::system,
                         [&] { write_safetensors(scratch / "a", large.views, {}, ErrorKind::checkpoint); });
  }
  CHECK(contains(message, "cannot be written: File too large"));
  check_equal(SafetensorsFile(scratch / "a").tensors(), small.views);
  CHECK(list_names(scratch.path()) == std::set<std::string>{"a"});
}

TEST_CASE("a moved reader keeps its tensors") {
  const Scratch scratch;
  Tensors tensors;
  tensors.add("w", TENON_FLOAT32, {7});
  write_safetensors(scratch / "a", tensors.views, {}, ErrorKind::checkpoint);
  SafetensorsFile first(scratch / "a");
  const SafetensorsFile second = std::move(first);
  check_equal(second.tensors(), tensors.views);
}

}  // namespace tenon::artifacts
