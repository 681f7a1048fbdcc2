// Predictions of samples that differ in shape.
#include "framework/reporting/predictions/prediction_file.h"

#include <tenon/abi.h>

#include <cstring>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/support/files/read_file.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace prediction_file_test {

using tenon::artifacts::SafetensorsFile;
using tenon::artifacts::TensorView;
using tenon::reporting::PredictionFile;
using tenon::reporting::PredictionRows;
namespace fs = std::filesystem;

namespace {

template <class T>
TensorView view(const std::string& name, int32_t dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  return {name, dtype, std::move(shape), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> read(const SafetensorsFile& file, const std::string& name) {
  const TensorView* const found = file.find(name);
  REQUIRE(found != nullptr);
  std::vector<T> values(found->bytes / sizeof(T));
  std::memcpy(values.data(), found->data, found->bytes);
  return values;
}

// Two batches of points with x and y: samples of one, no, and two points. `is_cut`: the last sample has x alone.
fs::path write_points(const std::string& name, bool is_cut) {
  const fs::path path = tenon::test_folder() / name;
  const auto file = PredictionFile::make(path, 3);
  const std::vector<int64_t> index = {7, 8}, shapes = {1, 2, 0, 2}, next_index = {9}, next_shapes = {2, is_cut ? 1 : 2};
  const std::vector<float> points = {1, 2, -1, -1}, next = {3, 4, 5, 6};
  PredictionRows rows;
  rows.tensors = {view("index", TENON_INT64, {2}, index), view("points", TENON_FLOAT32, {2, 1, 2}, points)};
  rows.shapes = {{"points", view("points", TENON_INT64, {2, 2}, shapes)}};
  file->append(rows);
  rows.tensors = {view("index", TENON_INT64, {1}, next_index), view("points", TENON_FLOAT32, {1, 2, 2}, next)};
  rows.shapes = {{"points", view("points", TENON_INT64, {1, 2}, next_shapes)}};
  file->append(rows);
  file->commit();
  return path;
}

}  // namespace

TEST_CASE("samples are written in their shape") {
  CHECK(tenon::support::read_text(write_points("points.jsonl", false)) ==
        "{\"index\": 7, \"points\": [[1, 2]]}\n{\"index\": 8, \"points\": []}\n"
        "{\"index\": 9, \"points\": [[3, 4], [5, 6]]}\n");
  CHECK(tenon::support::read_text(write_points("points.csv", true)) ==
        "index,points\n7,\"[[1, 2]]\"\n8,[]\n9,\"[[3], [5]]\"\n");
}

TEST_CASE("a safetensors file has the rows of all samples and where each begins") {
  const SafetensorsFile file(write_points("points.safetensors", false));
  CHECK(read<int64_t>(file, "index") == std::vector<int64_t>{7, 8, 9});
  CHECK(file.find("points.values")->shape == std::vector<int64_t>{3, 2});
  CHECK(read<float>(file, "points.values") == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(read<int64_t>(file, "points.offsets") == std::vector<int64_t>{0, 1, 1, 3});
  CHECK(file.find("points.shapes") == nullptr);
}

TEST_CASE("a safetensors file has the shapes of samples that differ in more than their rows") {
  const SafetensorsFile file(write_points("cut.safetensors", true));
  CHECK(read<float>(file, "points.values") == std::vector<float>{1, 2, 3, 5});
  CHECK(read<int64_t>(file, "points.offsets") == std::vector<int64_t>{0, 2, 2, 4});
  CHECK(read<int64_t>(file, "points.shapes") == std::vector<int64_t>{1, 2, 0, 2, 2, 1});
}

TEST_CASE("a tensor without lengths has the same shape in each batch") {
  for (const char* name : {"logits.safetensors", "logits.csv"}) {
    const auto file = PredictionFile::make(tenon::test_folder() / name, 2);
    const std::vector<int64_t> index = {0}, shapes = {1};
    const std::vector<float> logits = {1, 2, 3}, points = {4};
    PredictionRows rows;
    rows.shapes = {{"points", view("points", TENON_INT64, {1, 1}, shapes)}};
    rows.tensors = {view("index", TENON_INT64, {1}, index), view("logits", TENON_FLOAT32, {1, 3}, logits),
                    view("points", TENON_FLOAT32, {1, 1}, points)};
    file->append(rows);
    const std::vector<float> shorter = {1, 2};
    rows.tensors[1] = view("logits", TENON_FLOAT32, {1, 2}, shorter);
    const std::string message =
        tenon::find_error(tenon::support::ErrorKind::configuration, [&] { file->append(rows); });
    CHECK(tenon::contains(message, "logits: a sample has the shape [2] here and had [3] before"));
  }
}

}  // namespace prediction_file_test
