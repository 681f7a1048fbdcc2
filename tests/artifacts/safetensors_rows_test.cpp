#include "framework/artifacts/checkpoint/safetensors.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

#include <cstring>
#include <filesystem>

#include "tests/test_folder.h"

namespace tenon::artifacts {
namespace {

namespace fs = std::filesystem;
constexpr auto kKind = support::ErrorKind::configuration;

fs::path make_file(const std::string& name) {
  const fs::path folder = tenon::test_folder() / "rows";
  fs::create_directories(folder);
  fs::remove(folder / name);
  return folder / name;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> read_values(const SafetensorsFile& file, const std::string& name) {
  const TensorView* view = file.find(name);
  REQUIRE(view);
  std::vector<T> values(view->bytes / sizeof(T));
  if (view->bytes > 0) std::memcpy(values.data(), view->data, view->bytes);
  return values;
}

// Each row has a byte, a long and two floats. Row i contains i, -i, and i / 2 twice.
std::vector<RowTensor> three_tensors() {
  return {{"flag", TENON_UINT8, {}}, {"number", TENON_INT64, {}}, {"pair", TENON_FLOAT32, {2, 1}}};
}

void append_rows(SafetensorsRows& file, int first, int end) {
  std::vector<uint8_t> flags;
  std::vector<int64_t> numbers;
  std::vector<float> pairs;
  for (int i = first; i < end; ++i) {
    flags.push_back(static_cast<uint8_t>(i));
    numbers.push_back(-i);
    pairs.insert(pairs.end(), 2, static_cast<float>(i) / 2);
  }
  file.append(0, bytes_of(flags));
  file.append(1, bytes_of(numbers));
  file.append(2, bytes_of(pairs));
}

void check_rows(const fs::path& path, int rows) {
  const SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 3);
  CHECK(file.tensors()[0].name == "flag");
  CHECK(file.find("pair")->shape == std::vector<int64_t>{rows, 2, 1});
  CHECK(file.metadata().at("format") == "pt");
  const auto flags = read_values<uint8_t>(file, "flag");
  const auto numbers = read_values<int64_t>(file, "number");
  const auto pairs = read_values<float>(file, "pair");
  REQUIRE(flags.size() == static_cast<size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    const auto k = static_cast<size_t>(i);
    CHECK(flags[k] == static_cast<uint8_t>(i));
    CHECK(numbers[k] == -i);
    CHECK(pairs[2 * k + 1] == static_cast<float>(i) / 2);
  }
}

}  // namespace

TEST_CASE("rows in pieces become complete tensors") {
  const fs::path path = make_file("whole.safetensors");
  SafetensorsRows file(path, three_tensors(), 250, {{"format", "pt"}}, kKind);
  append_rows(file, 0, 100);
  append_rows(file, 100, 101);
  append_rows(file, 101, 250);
  CHECK_FALSE(fs::exists(path));
  file.commit();
  check_rows(path, 250);
}

TEST_CASE("fewer rows than reserved move together") {
  for (const int rows : {0, 1, 9, 99}) {
    CAPTURE(rows);
    const fs::path path = make_file("fewer.safetensors");
    SafetensorsRows file(path, three_tensors(), 1000, {{"format", "pt"}}, kKind);
    append_rows(file, 0, rows);
    file.commit();
    check_rows(path, rows);
  }
}

TEST_CASE("pieces larger than the move buffer are intact") {
  const fs::path path = make_file("large.safetensors");
  constexpr int64_t kRows = 700'000;
  SafetensorsRows file(path, {{"a", TENON_INT32, {}}, {"b", TENON_INT32, {}}}, kRows + 1, {}, kKind);
  std::vector<int32_t> a(kRows), b(kRows);
  for (size_t i = 0; i < a.size(); ++i) b[i] = -(a[i] = static_cast<int32_t>(i));
  file.append(0, bytes_of(a));
  file.append(1, bytes_of(b));
  file.commit();
  const SafetensorsFile read(path);
  CHECK(read_values<int32_t>(read, "a") == a);
  CHECK(read_values<int32_t>(read, "b") == b);
}

TEST_CASE("an uncommitted file leaves the earlier file") {
  const fs::path path = make_file("kept.safetensors");
  {
    SafetensorsRows file(path, three_tensors(), 3, {{"format", "pt"}}, kKind);
    append_rows(file, 0, 3);
    file.commit();
  }
  {
    SafetensorsRows file(path, three_tensors(), 5, {{"format", "pt"}}, kKind);
    append_rows(file, 0, 2);
  }
  check_rows(path, 3);
  CHECK(std::distance(fs::directory_iterator(path.parent_path()), {}) >= 1);
  for (const auto& entry : fs::directory_iterator(path.parent_path()))
    CHECK_FALSE(is_temporary_name(entry.path().filename().string()));
}

TEST_CASE("too many rows, different numbers of rows and tensors that cannot be stored are errors") {
  const fs::path path = make_file("wrong.safetensors");
  SafetensorsRows file(path, three_tensors(), 2, {}, kKind);
  CHECK_THROWS_AS(append_rows(file, 0, 3), support::Error);
  SafetensorsRows uneven(path, three_tensors(), 2, {}, kKind);
  uneven.append(0, bytes_of(std::vector<uint8_t>{1}));
  CHECK_THROWS_AS(uneven.commit(), support::Error);
  CHECK_THROWS_AS(SafetensorsRows(path, {{"c", TENON_COMPLEX64, {}}}, 1, {}, kKind), support::Error);
  CHECK_FALSE(fs::exists(path));
}

}  // namespace tenon::artifacts
