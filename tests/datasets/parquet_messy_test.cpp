// The plugin parquet on files of pandas, Spark and datasets that hold more, or less, than samples.
// make_messy_parquet.py writes them.
#include <doctest/doctest.h>

#include "plugins/datasets/parquet/list_files.h"
#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/parquet_params.h"
#include "tests/datasets/written_images.h"

namespace parquet_messy_test {

namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

const fs::path kPlugin = TENON_BINARY_DIR "/plugins/parquet.so";
const fs::path kFiles = TENON_SOURCE_DIR "/tests/datasets/reference/messy_parquet";

ParamValues make_params(const std::string& name, const ParamValues& changes = {}) {
  return make_parquet_params(kFiles / name, changes);
}

std::string complaint(const std::string& name, const ParamValues& changes = {}) {
  return error_of<Refused>([&] { OpenedDataset(kPlugin, make_params(name, changes)); });
}

}  // namespace

TEST_CASE("the index of pandas is no field unless it is named") {
  for (const auto& [file, index] :
       {std::pair("shuffled_index.parquet", "__index_level_0__"), std::pair("named_index.parquet", "row_id")}) {
    const OpenedDataset data(kPlugin, make_params(file));
    CHECK(data.describe_fields() == Texts{"x float32", "y int64"});
    CHECK(OpenedDataset::log()[0].find(std::string("left out: \"") + index +
                                       "\" (int64), the index of pandas: write it with to_parquet(..., index=False)") !=
          std::string::npos);
    const OpenedDataset named(kPlugin, make_params(file, {{"columns", Texts{index}}}));
    CHECK(named.describe_fields() == Texts{std::string(index) + " int64"});
  }
}

TEST_CASE("parts of folder names are columns, and files of a job that is not complete are no data") {
  const OpenedDataset data(kPlugin, make_params("hive"));
  REQUIRE(data.size() == 3);
  CHECK(data.describe_fields() == Texts{"x float32"});
  CHECK(OpenedDataset::log()[0].find("left out: \"year\" (a part of the folder's name), \"city\"") !=
        std::string::npos);
  const OpenedDataset named(kPlugin, make_params("hive", {{"columns", Texts{"x", "year"}}, {"labels", Texts{"city"}}}));
  CHECK(named.describe_fields() == Texts{"x float32", "year int64", "city int64"});
  CHECK(named.describe_classes() == Texts{"city: a/b, c, d"});
  for (int64_t i = 0; i < 3; ++i) {
    CHECK(named.floats(i, "x")[0] == 0.5f + static_cast<float>(i));
    CHECK(named.integer(i, "year") == (i == 0 ? 2023 : 2024));
    CHECK(named.integer(i, "city") == i);
  }
  const OpenedDataset features(kPlugin, make_params("hive", {{"columns", Texts{"x"}}, {"features", Texts{"year"}}}));
  CHECK(features.floats(1, "features") == std::vector<float>{2024});
  CHECK(complaint("hive", {{"features", Texts{"month"}}}).find("\"year\" (a part of the folder's name)") !=
        std::string::npos);
}

TEST_CASE("images that are stored as paths are named, with the fix") {
  for (const char* file : {"paths.parquet", "untyped_paths.parquet"}) {
    const std::string text = complaint(file);
    CAPTURE(text);
    CHECK(text.find("row 0: the column \"image\" is null or has no bytes, perhaps only a path; expected the bytes "
                    "of each image; embed them") != std::string::npos);
  }
}

TEST_CASE("lists of class numbers are multi-hot targets, or reported") {
  const OpenedDataset lists(kPlugin, make_params("lists.parquet"));
  CHECK(lists.describe_fields() == Texts{"x float32", "labels int64 -1"});
  CHECK(OpenedDataset::log()[0].find("list the column in the parameter \"multi_hot\"") != std::string::npos);
  const OpenedDataset marks(
      kPlugin, make_params("lists.parquet", {{"multi_hot", Texts{"labels"}}, {"classes", Texts{"a", "b", "c"}}}));
  CHECK(marks.describe_fields() == Texts{"x float32", "labels float32 3"});
  const std::vector<std::vector<float>> expected = {{1, 0, 1}, {0, 1, 0}, {0, 0, 0}, {0, 0, 1}};
  for (int64_t i = 0; i < 4; ++i) CHECK(marks.floats(i, "labels") == expected[static_cast<size_t>(i)]);
  CHECK(complaint("lists.parquet", {{"multi_hot", Texts{"labels"}}}).find("expected their names in the parameter") !=
        std::string::npos);
  CHECK(complaint("lists.parquet", {{"multi_hot", Texts{"x"}}, {"classes", Texts{"a"}}})
            .find("expected lists of class numbers from 0") != std::string::npos);
  const OpenedDataset few(kPlugin,
                          make_params("lists.parquet", {{"multi_hot", Texts{"labels"}}, {"classes", Texts{"a", "b"}}}));
  CHECK(error_of<Refused>([&] { few.get(0); }).find("is 2; expected a class from 0 to 1") != std::string::npos);
}

TEST_CASE("the elements of multi-hot targets are the classes of the training data") {
  const auto params = [](const Texts& classes) {
    return make_params("lists.parquet", {{"multi_hot", Texts{"labels"}}, {"classes", classes}});
  };
  const std::string fitted = OpenedDataset(kPlugin, params({"a", "b", "c"})).fitted_data();
  const OpenedDataset other(kPlugin, params({"c", "a", "b"}), fitted);
  CHECK(other.fitted_data() == fitted);
  const std::vector<std::vector<float>> expected = {{0, 1, 1}, {1, 0, 0}, {0, 0, 0}, {0, 1, 0}};
  for (int64_t i = 0; i < 4; ++i) CHECK(other.floats(i, "labels") == expected[static_cast<size_t>(i)]);
  CHECK(OpenedDataset::log().size() == 1);
  const OpenedDataset more(kPlugin, params({"c", "a", "b"}),
                           OpenedDataset(kPlugin, params({"a", "b", "c", "d"})).fitted_data());
  CHECK(more.describe_fields() == Texts{"x float32", "labels float32 4"});
  CHECK(OpenedDataset::log()[0].find("lacks classes of the training data, such as \"d\"") != std::string::npos);
  const std::string refused = error_of<Refused>([&] { OpenedDataset(kPlugin, params({"a", "b", "e"}), fitted); });
  CHECK(refused.find("the column \"labels\" has the classes a, b, e, and the training data have a, b, c; expected only "
                     "those: \"e\" is not among them") != std::string::npos);
}

TEST_CASE("texts of numbers are classes in the order of their values, and texts of several classes are refused") {
  const OpenedDataset numbers(kPlugin, make_params("numbers.parquet", {{"labels", Texts{"y"}}}));
  CHECK(numbers.describe_classes() == Texts{"y: -1, 2, 10"});
  const int64_t expected[] = {2, 1, 0, 1};
  for (int64_t i = 0; i < 4; ++i) CHECK(numbers.integer(i, "y") == expected[i]);
  CHECK(OpenedDataset::log()[0].find("1 name has blanks around it, such as \" 2\"") != std::string::npos);
  CHECK(complaint("tags.parquet", {{"labels", Texts{"y"}}}).find("\"cat|dog\" lists several classes") !=
        std::string::npos);
}

}  // namespace parquet_messy_test
