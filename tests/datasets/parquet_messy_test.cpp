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

TEST_CASE("columns of folder names that are not used are a warning") {
  const std::string found =
      "the values in the names of folders are not read: \"year\", \"city\"; list it in \"labels\"";
  const OpenedDataset data(kPlugin, make_params("hive"));
  REQUIRE(OpenedDataset::log().size() == 2);
  CHECK(OpenedDataset::log()[1].find(found) != std::string::npos);
  const OpenedDataset chosen(kPlugin, make_params("hive", {{"columns", Texts{"x"}}}));
  CHECK(OpenedDataset::log().size() == 1);
}

TEST_CASE("a pattern, a file and a folder of one value have the columns of their folder names") {
  const ParamValues city = {{"columns", Texts{"x"}}, {"labels", Texts{"city"}}};
  const OpenedDataset pattern(kPlugin, make_params("hive/*/*/*.parquet", city));
  CHECK(pattern.describe_classes() == Texts{"city: a/b, c, d"});
  const OpenedDataset folder(kPlugin, make_params("hive/year=2024", city));
  CHECK(folder.describe_classes() == Texts{"city: c, d"});
  const OpenedDataset year(kPlugin, make_params("hive/year=2024", {{"columns", Texts{"x", "year"}}}));
  CHECK(year.integer(0, "year") == 2024);
  const OpenedDataset file(kPlugin, make_params("hive/year=2024/city=d/part-0.parquet", city));
  CHECK(file.describe_classes() == Texts{"city: d"});
}

TEST_CASE("labels of folder names keep their texts, and a missing or contradicting value is refused") {
  const OpenedDataset zeros(kPlugin, make_params("zeros", {{"labels", Texts{"label"}}}));
  CHECK(zeros.describe_classes() == Texts{"label: 01, 02"});
  CHECK(zeros.integer(1, "label") == 1);
  const OpenedDataset numbers(kPlugin, make_params("zeros", {{"columns", Texts{"label"}}}));
  CHECK(numbers.integer(1, "label") == 2);
  for (const char* parameter : {"labels", "columns"})
    CHECK(complaint("missing", {{parameter, Texts{"label"}}})
              .find("label=__HIVE_DEFAULT_PARTITION__/part-0.parquet: the column \"label\" has no value") !=
          std::string::npos);
  CHECK(OpenedDataset(kPlugin, make_params("missing")).size() == 2);
  const OpenedDataset same(kPlugin, make_params("same", {{"labels", Texts{"label"}}}));
  CHECK(same.describe_classes() == Texts{"label: cat, dog"});
  CHECK(complaint("contradicting")
            .find("part-0.parquet: row 1: the column \"label\" is \"owl\", and the folder is named label=cat; expected "
                  "the same value") != std::string::npos);
  CHECK(complaint("contradicting_number").find("is \"2023\", and the folder is named year=2024") != std::string::npos);
}

TEST_CASE("a linked folder is read like a folder") {
  const fs::path link = make_empty_folder("linked") / "link";
  fs::create_directory_symlink(kFiles / "hive/year=2024", link);
  const OpenedDataset data(kPlugin, make_parquet_params(link));
  CHECK(data.size() == 2);
  const OpenedDataset around(kPlugin, make_parquet_params(link.parent_path(), {{"labels", Texts{"city"}}}));
  CHECK(around.describe_classes() == Texts{"city: c, d"});
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

TEST_CASE("lists of texts are multi-hot targets, or named in a warning") {
  const OpenedDataset left_out(kPlugin, make_params("text_lists.parquet"));
  CHECK(left_out.describe_fields() == Texts{"x float32"});
  CHECK(OpenedDataset::log()[1].find("columns with lists of texts are not read: \"tags\"; list it in \"multi_hot\"") !=
        std::string::npos);
  const ParamValues tags = {{"multi_hot", Texts{"tags"}}, {"classes", Texts{"cat", "dog", "odd"}}};
  const OpenedDataset marks(kPlugin, make_params("text_lists.parquet", tags));
  CHECK(marks.describe_fields() == Texts{"x float32", "tags float32 3"});
  const std::vector<std::vector<float>> expected = {{1, 1, 0}, {0, 0, 0}, {0, 0, 1}};
  for (int64_t i = 0; i < 3; ++i) CHECK(marks.floats(i, "tags") == expected[static_cast<size_t>(i)]);
  const OpenedDataset found(kPlugin, make_params("text_lists.parquet", {{"multi_hot", Texts{"tags"}}}));
  for (int64_t i = 0; i < 3; ++i) CHECK(found.floats(i, "tags") == expected[static_cast<size_t>(i)]);
  // The texts of other files are elements of the training data's classes.
  const OpenedDataset training(kPlugin, make_params("text_lists.parquet", {{"multi_hot", Texts{"tags"}},
                                                                           {"classes", Texts{"odd", "dog", "cat"}}}));
  const OpenedDataset other(kPlugin, make_params("text_lists.parquet", {{"multi_hot", Texts{"tags"}}}),
                            training.fitted_data());
  CHECK(other.floats(2, "tags") == std::vector<float>{1, 0, 0});
  for (const char* parameter : {"labels", "columns"})
    CHECK(
        complaint("text_lists.parquet", {{parameter, Texts{"tags"}}}).find("list it in the parameter \"multi_hot\"") !=
        std::string::npos);
  const OpenedDataset few(
      kPlugin, make_params("text_lists.parquet", {{"multi_hot", Texts{"tags"}}, {"classes", Texts{"cat", "dog"}}}));
  CHECK(error_of<Refused>([&] { few.get(2); }).find("row 2: the column \"tags\": \"odd\" is none of the 2 classes") !=
        std::string::npos);
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

TEST_CASE("a label that is the text of a missing value is refused, unless it is listed as a class") {
  const ParamValues label = {{"labels", Texts{"y"}}};
  CHECK(
      complaint("missing_text.parquet", label)
          .find("missing_text.parquet: the column \"y\" has a missing value, NA; expected the name of a class: remove "
                "the row, or list all names in the parameter \"classes\"") != std::string::npos);
  const ParamValues listed = with_changes(label, {{"classes", Texts{"NA", "cat", "dog"}}});
  CHECK(OpenedDataset(kPlugin, make_params("missing_text.parquet", listed)).integer(1, "y") == 0);
}

}  // namespace parquet_messy_test
