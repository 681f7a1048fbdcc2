#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tests/datasets/opened_dataset.h"

namespace digits_test {

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/digits.so";

struct Row {
  std::vector<float> pixels;
  int64_t label;
};

std::vector<Row> read_csv() {
  std::ifstream file(TENON_SOURCE_DIR "/plugins/datasets/digits/digits.csv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    Row row;
    for (std::string cell; std::getline(cells, cell, ',');) row.pixels.push_back(std::stof(cell) / 16);
    row.label = static_cast<int64_t>(row.pixels.back() * 16);
    row.pixels.pop_back();
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("digits gives an image in [0, 1] and a label") {
  const OpenedDataset train(kPlugin, {{"split", "train"}});
  CHECK(train.describe_fields() == std::vector<std::string>{"image float32 1,8,8", "label int64"});
}

TEST_CASE("digits holds every row of its file, with every fifth row in the test part") {
  const OpenedDataset train(kPlugin, {{"split", "train"}});
  const OpenedDataset test(kPlugin, {{"split", "test"}});
  CHECK(train.size() == 1438);
  CHECK(test.size() == 359);
  const std::vector<Row> rows = read_csv();
  REQUIRE(rows.size() == 1797);
  int64_t in_train = 0;
  int64_t in_test = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    const bool tested = row % 5 == 4;
    const OpenedDataset& part = tested ? test : train;
    const int64_t index = tested ? in_test++ : in_train++;
    CHECK(part.floats(index, "image") == rows[row].pixels);
    CHECK(part.integer(index, "label") == rows[row].label);
  }
}

}  // namespace digits_test
