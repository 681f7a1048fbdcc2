// The plugin parquet. make_parquet.py writes the files and the samples that Hugging Face's datasets package gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include <nlohmann/json.hpp>

#include "plugins/datasets/parquet/list_files.h"
#include "plugins/datasets/parquet/row_index.h"
#include "plugins/text/tokenizer.h"
#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/parquet_params.h"
#include "tests/datasets/written_images.h"
#include "tests/test_folder.h"

namespace parquet_test {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Texts = std::vector<std::string>;

const fs::path kPlugin = TENON_BINARY_DIR "/plugins/parquet.so";
const fs::path kFiles = TENON_SOURCE_DIR "/tests/datasets/reference/parquet";

const json& expected() {
  static const json read = json::parse(std::ifstream(kFiles / "expected.json"));
  return read;
}

// Returns the message of the error when the dataset is opened or one of its samples is read, without the folder of the
// files.
std::string complaint(const fs::path& path, const ParamValues& changes = {}) {
  std::string text = error_of<Refused>([&] {
    const OpenedDataset data(kPlugin, make_parquet_params(path, changes));
    for (int64_t i = 0; i < data.size(); ++i) data.get(i);
  });
  for (const std::string& folder : {kFiles.string() + '/', tenon::test_folder().string() + '/'})
    for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return text;
}

void check_complaint(const std::string& file, const std::string& expected_text, const ParamValues& changes = {}) {
  const std::string text = complaint(kFiles / file, changes);
  CAPTURE(text);
  CHECK(text.find(expected_text) != std::string::npos);
}

std::vector<uint8_t> read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("a folder of images with class labels has the samples of the datasets package") {
  for (const std::string split : {"train", "validation"}) {
    const OpenedDataset data(kPlugin, make_parquet_params(kFiles / "images", {{"split", split}}));
    CHECK(data.describe_fields() == Texts{"image uint8 -1,-1,3", "label int64"});
    CHECK(data.describe_classes() == Texts{"label: cat, dog, owl"});
    const json& samples = expected()["images"][split];
    REQUIRE(data.size() == static_cast<int64_t>(samples.size()));
    for (int64_t i = data.size() - 1; i >= 0; --i) {
      const json& sample = samples[static_cast<size_t>(i)];
      CHECK(data.bytes(i, "image") == sample["image"].get<std::vector<uint8_t>>());
      CHECK(data.integer(i, "label") == sample["label"].get<int64_t>());
    }
  }
  const OpenedDataset train(kPlugin, make_parquet_params(kFiles / "images", {{"split", "train"}}));
  CHECK(train.sample_name(0) == "data/train-00000-of-00002.parquet:0");
  CHECK(train.sample_name(13) == "data/train-00001-of-00002.parquet:6");
}

TEST_CASE("a table has the samples of the datasets package") {
  // With less memory than a row group, each sample decodes one.
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{0}}) {
    const OpenedDataset data(
        kPlugin, make_parquet_params(kFiles / "table", {{"labels", Texts{"species"}}, {"row_group_bytes", bytes}}));
    CHECK(data.describe_fields() == Texts{"small int64", "weight float32", "height float32", "ripe bool",
                                          "tags int64 -1", "box float32 2", "fine int64", "species int64"});
    CHECK(data.describe_classes() == Texts{"fine: smooth, rough", "species: apple, fig, pear"});
    CHECK(expected()["table"]["classes"] == json(Texts{"apple", "fig", "pear"}));
    const json& samples = expected()["table"]["samples"];
    REQUIRE(data.size() == static_cast<int64_t>(samples.size()));
    for (const int64_t i : {5, 0, 10, 3, 4, 9, 1, 2, 6, 8, 7}) {
      const json& sample = samples[static_cast<size_t>(i)];
      for (const char* name : {"small", "species", "fine"}) CHECK(data.integer(i, name) == sample[name].get<int64_t>());
      for (const char* name : {"weight", "height"}) CHECK(data.floats(i, name)[0] == sample[name].get<float>());
      CHECK(data.bytes(i, "ripe")[0] == sample["ripe"].get<bool>());
      CHECK(data.integers(i, "tags") == sample["tags"].get<std::vector<int64_t>>());
      CHECK(data.floats(i, "box") == sample["box"].get<std::vector<float>>());
    }
  }
}

TEST_CASE("columns with numbers become the fields features and targets") {
  const ParamValues changes = {
      {"columns", Texts{"fine"}}, {"features", Texts{"ripe", "weight", "small"}}, {"targets", Texts{"height"}}};
  const OpenedDataset data(kPlugin, make_parquet_params(kFiles / "table", changes));
  CHECK(data.describe_fields() == Texts{"fine int64", "features float32 3", "targets float32 1"});
  const json& sample = expected()["table"]["samples"][7];
  CHECK(data.floats(7, "features") == std::vector<float>{0, sample["weight"].get<float>(), 2});
  CHECK(data.floats(7, "targets") == std::vector<float>{sample["height"].get<float>()});
  CHECK(data.integer(7, "fine") == 1);
}

TEST_CASE("every type of number, list and text is read, and columns of other types are left out") {
  const ParamValues texts = {{"labels", Texts{"text", "large_text", "text_view", "category"}}};
  const OpenedDataset data(kPlugin, make_parquet_params(kFiles / "types.parquet", texts));
  CHECK(data.describe_fields() == Texts{"int8 int64", "int16 int64", "int32 int64", "int64 int64", "uint8 int64",
                                        "uint16 int64", "uint32 int64", "half float32", "single float32",
                                        "double float32", "bool bool", "list int64 -1", "large_list int64 -1",
                                        "fixed_list float32 2", "bools bool -1", "text int64", "large_text int64",
                                        "text_view int64", "category int64"});
  for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"})
    CHECK(data.integer(1, name) == 2);
  for (const char* name : {"half", "single", "double"}) CHECK(data.floats(2, name) == std::vector<float>{3});
  for (const char* name : {"list", "large_list"}) {
    CHECK(data.integers(0, name) == std::vector<int64_t>{1, 2});
    CHECK(data.integers(1, name).empty());
    CHECK(data.integers(2, name) == std::vector<int64_t>{3});
  }
  CHECK(data.floats(1, "fixed_list") == std::vector<float>{3, 4});
  CHECK(data.bytes(1, "bools") == std::vector<uint8_t>{0, 1});
  for (const char* name : {"text", "large_text", "text_view", "category"}) {
    CHECK(data.integer(0, name) == 1);
    CHECK(data.integer(1, name) == 0);
  }
  REQUIRE(OpenedDataset::log().size() == 1);
  CHECK(OpenedDataset::log()[0].find("left out: \"unsigned\" (uint64), \"day\" (timestamp[") != std::string::npos);
  for (const char* name : {"unsigned", "day", "price", "nested", "point"})
    check_complaint("types.parquet", "which the parameter \"columns\" names, cannot be read; expected images",
                    {{"columns", Texts{name}}});
}

TEST_CASE("every compression is read") {
  for (const char* name : {"none", "snappy", "gzip", "zstd", "brotli", "lz4"}) {
    const OpenedDataset data(kPlugin, make_parquet_params(kFiles / "compressed" / (name + std::string(".parquet")),
                                                          {{"labels", Texts{"label"}}}));
    REQUIRE(data.size() == 50);
    for (const int64_t i : {49, 0, 20, 19}) {
      CHECK(data.integer(i, "number") == i);
      CHECK(data.integer(i, "label") == i % 2);
    }
  }
}

TEST_CASE("a pattern names several files, and parts of the rows do not overlap") {
  const auto size_of = [](const std::string& path, const ParamValues& changes = {}) {
    return OpenedDataset(kPlugin, make_parquet_params(kFiles / path, changes)).size();
  };
  CHECK(size_of("images/data/train-*.parquet") == 14);
  CHECK(size_of("images/data/train-0000{0,1}-of-00002.parquet") == 14);
  CHECK(size_of("images/data/*.parquet") == 21);
  CHECK(size_of("images/data/*.parquet", {{"split", "validation"}}) == 7);
  CHECK(size_of("images", {{"split", "all"}}) == 21);
  CHECK(size_of("images/data/train-00001-of-00002.parquet") == 7);

  std::vector<std::string> names;
  for (const char* part : {"train", "validation"}) {
    const OpenedDataset data(kPlugin, make_parquet_params(kFiles / "compressed/snappy.parquet", {{"part", part}}));
    CHECK(data.size() > 10);
    for (int64_t i = 0; i < data.size(); ++i) {
      names.push_back(data.sample_name(i));
      CHECK(names.back() == "snappy.parquet:" + std::to_string(data.integer(i, "number")));
    }
  }
  std::sort(names.begin(), names.end());
  CHECK(names.size() == 50);
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("splits are named by the files, as in the datasets package") {
  using parquet_dataset::split_of;
  CHECK(split_of("data/train-00000-of-00002.parquet") == "train");
  CHECK(split_of("data/train-00000-of-00002-0a1b2c3d4e5f6071.parquet") == "train");
  CHECK(split_of("data/validation_matched-00000-of-00001.parquet") == "validation_matched");
  CHECK(split_of("test.parquet") == "test");
  CHECK(split_of("sst2-dev.parquet") == "validation");
  CHECK(split_of("default/train/0000.parquet") == "train");
  CHECK(split_of("trainers.parquet").empty());
  CHECK(split_of("part-of-00001.parquet").empty());
  CHECK(split_of("0000.parquet").empty());
}

TEST_CASE("workers on several threads read the samples of one worker") {
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{1}}) {
    const OpenedDataset data(kPlugin,
                             make_parquet_params(kFiles / "images", {{"split", "train"}, {"row_group_bytes", bytes}}));
    std::vector<SampleBytes> one;
    for (int64_t i = 0; i < data.size(); ++i) one.push_back(data.get(i));
    std::atomic<int> differences = 0;
    data.run_workers(4, [&](const auto& get, int64_t id) {
      for (int64_t k = 0; k < 200; ++k) {
        const int64_t i = (k * 5 + id * 3) % data.size();
        differences += get(i) != one[static_cast<size_t>(i)];
      }
    });
    CHECK(differences == 0);
  }
}

TEST_CASE("the row groups used last are kept in bounded memory") {
  struct Rows final : parquet_dataset::RowGroup {
    uint64_t bytes() const override { return 10; }
    int64_t list_length(size_t, int64_t) const override { return 0; }
    void copy_numbers(size_t, int64_t, void*) const override {}
    std::string_view text(size_t, int64_t) const override { return ""; }
    std::string_view list_text(size_t, int64_t, int64_t) const override { return ""; }
  };
  std::vector<size_t> loaded;
  parquet_dataset::RowGroupCache cache(25, [&](size_t number) {
    loaded.push_back(number);
    if (number == 9) throw std::runtime_error("damaged");
    return std::make_shared<const Rows>();
  });
  for (const size_t number : {0, 1, 0, 2, 0, 1}) cache.get(number);
  CHECK(loaded == std::vector<size_t>{0, 1, 2, 1});
  CHECK(cache.bytes() == 20);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(cache.get(9), "damaged");
  CHECK(loaded.size() == 6);
  CHECK(cache.bytes() == 20);
}

TEST_CASE("texts become the tokens of a tokenizer") {
  const std::vector<std::string> texts(20, "pear apple fig");
  const auto model = text::train_tokenizer(texts, {13, "char", 1}, "the test");
  const fs::path file = make_empty_folder("tokenizer") / "text.model";
  write_file(file, {model->begin(), model->end()});
  const ParamValues changes = {{"columns", Texts{"small"}}, {"text", Texts{"species"}}, {"tokenizer", file.string()}};
  const OpenedDataset data(kPlugin, make_parquet_params(kFiles / "table", changes));
  CHECK(data.describe_fields() == Texts{"small int64", "species int64 -1"});
  CHECK(data.describe_tokenizer() == "species: 13 -1 -1 0");
  for (int64_t i = 0; i < 3; ++i) {
    const std::string text = Texts{"pear", "apple", "fig"}[static_cast<size_t>(i)];
    CHECK(data.integers(i, "species") == data.encode(text));
    CHECK(data.decode(data.integers(i, "species")) == text);
  }
  const ParamValues shorter = with_changes(changes, {{"max_tokens", int64_t{2}}});
  CHECK(OpenedDataset(kPlugin, make_parquet_params(kFiles / "table", shorter)).integers(1, "species").size() == 2);

  check_complaint("table", "\"text\" is given without \"tokenizer\"", {{"text", Texts{"species"}}});
  check_complaint("table", "\"tokenizer\" is given without \"text\"", {{"tokenizer", "x.model"}});
  CHECK(OpenedDataset(kPlugin, make_parquet_params(kFiles / "table")).describe_tokenizer().empty());
}

TEST_CASE("wrong parameters are refused with the columns that there are") {
  check_complaint("table",
                  "table/train.parquet: there is no column \"wieght\", which the parameter \"columns\" names; "
                  "did you mean \"weight\"?",
                  {{"columns", Texts{"wieght"}}});
  check_complaint("table",
                  "there is no column \"qqqqqqq\", which the parameter \"features\" names; available: \"small\" "
                  "(int8), \"weight\" (double), ",
                  {{"features", Texts{"qqqqqqq"}}});
  check_complaint("table",
                  "the column \"species\" (string), which the parameter \"columns\" names, cannot be read; "
                  "expected an image or numbers; list it in the parameter \"labels\"",
                  {{"columns", Texts{"species"}}});
  check_complaint("table", "the column \"box\" (", {{"targets", Texts{"box"}}});
  check_complaint("table", "\"targets\" names the column \"weight\", which is already used",
                  {{"features", Texts{"weight"}}, {"targets", Texts{"weight"}}});
  check_complaint("table", "and \"labels\" names 0 columns; expected one", {{"classes", Texts{"fig"}}});
  check_complaint("table", "name the classes of \"fine\"; leave out \"classes\"",
                  {{"labels", Texts{"fine"}}, {"classes", Texts{"a", "b"}}});
  check_complaint("table", "table/train.parquet: row 0: the column \"species\": \"pear\" is none of the 2 classes",
                  {{"labels", Texts{"species"}}, {"classes", Texts{"fig", "apple"}}});
  check_complaint("images", "images: holds several splits: \"train\" (2 files), \"validation\" (1 file); set");
  check_complaint("images", "images: has no file of the split \"test\"; available: \"train\" (2 files)",
                  {{"split", "test"}});
  check_complaint("nothing-*.parquet", "nothing-*.parquet: no such file, and no file matches it as a pattern");
}

TEST_CASE("images that EXIF turns, and transforms that move them, are reported if something belongs to their pixels") {
  const auto log_of = [](const Texts& columns, const Texts& targets, const Texts& transforms = {}) {
    const OpenedDataset data(
        kPlugin, make_parquet_params(kFiles / "turned.parquet",
                                     {{"columns", columns}, {"targets", targets}, {"transforms", transforms}}));
    Texts lines = OpenedDataset::log();
    std::erase_if(lines, [](const std::string& line) { return line.find(": 2 samples of ") != std::string::npos; });
    for (int64_t i = 0; i < data.size(); ++i) data.get(i);
    return lines;
  };
  const Texts pair = log_of({"a", "b"}, {});
  REQUIRE(pair.size() == 1);
  CHECK(pair[0].find("turned upright by the EXIF orientation, unlike the other image of the sample: 2 of 4 examined") ==
        0);
  CHECK(log_of({"a"}, {"age"}, {"horizontal_flip()"}).empty());
  const Texts flipped = log_of({"a"}, {"x1", "age"}, {"resize((8, 8))", "horizontal_flip()"});
  REQUIRE(flipped.size() == 2);
  CHECK(flipped[0].find("unlike the coordinates among the targets: 2 of 2 examined images") != std::string::npos);
  CHECK(flipped[1].find("the transforms move the pixels of the image, but not the coordinates among the targets: "
                        "resize, horizontal_flip; expected") == 0);
}

TEST_CASE("nulls, unsuitable values and different files are refused with file, row and column") {
  check_complaint("refused/null_number.parquet", "null_number.parquet: row 2: the column \"x\" is null");
  CHECK(complaint(kFiles / "refused/null_number.parquet", {{"columns", Texts{"y"}}}).empty());
  check_complaint("refused/null_in_list.parquet",
                  "null_in_list.parquet: row 1: the column \"x\" is null or has a null");
  check_complaint("refused/null_image.parquet", "null_image.parquet: row 1: the column \"image\" is null");
  check_complaint("refused/damaged_image.parquet", "damaged_image.parquet: row 1: the column \"image\": ");
  check_complaint("refused/empty.parquet", "refused/empty.parquet: has no rows; expected one or more");
  check_complaint("refused/empty_text.parquet", "empty_text.parquet: row 1: the column \"x\" is empty",
                  {{"labels", Texts{"x"}}});
  check_complaint("refused/large_number.parquet", "large_number.parquet: row 1: the column \"x\": the number 1");
  const std::string advice = "; list columns in the parameter \"columns\", or numbers together in \"features\"";
  check_complaint("refused/many_columns.parquet",
                  "refused/many_columns.parquet: has 65 columns; expected at most 64" + advice);
  CHECK(complaint(kFiles / "refused/many_columns.parquet", {{"columns", Texts{"x0", "x64"}}}).empty());
  check_complaint("refused/no_name.parquet", "refused/no_name.parquet: one of the columns has no name" + advice);
  CHECK(complaint(kFiles / "refused/no_elements.parquet", {}).empty());
  check_complaint("refused/no_elements.parquet", "cannot be read; expected lists with elements",
                  {{"columns", Texts{"x"}}});
  check_complaint("refused/other_schema",
                  "refused/other_schema/b.parquet: the column \"x\" has the type double; "
                  "expected int64, as in refused/other_schema/a.parquet");
  CHECK(complaint(kFiles / "refused/other_schema", {{"columns", Texts{"y"}}}).empty());
  check_complaint("refused/unlabelled.parquet",
                  "unlabelled.parquet: row 2: the column \"label\" is -1; expected a class");
  check_complaint("refused/damaged_metadata.parquet", "its metadata \"huggingface\" is not a JSON object");
  check_complaint("refused/damaged_names.parquet", "no list of class names for the column \"label\"");
}

TEST_CASE("a file that is truncated, or is no Parquet file, is refused") {
  const std::vector<uint8_t> whole = read_bytes(kFiles / "compressed/snappy.parquet");
  const fs::path file = make_empty_folder("truncated") / "a.parquet";
  for (size_t size = 0; size < whole.size(); size += 7) {
    write_file(file, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    const std::string text = complaint(file);
    CAPTURE(size);
    CAPTURE(text);
    CHECK(text.find("truncated/a.parquet: ") == 0);
    CHECK(text.find("the file is damaged or incomplete") != std::string::npos);
  }
  write_file(file, read_bytes(kFiles / "images/README.md"));
  CHECK(complaint(file).find("a.parquet: does not begin with PAR1; expected a Parquet file") != std::string::npos);
}

TEST_CASE("a page with a checksum that does not match is refused") {
  std::vector<uint8_t> bytes = read_bytes(kFiles / "compressed/zstd.parquet");
  const fs::path file = make_empty_folder("checksum") / "a.parquet";
  bytes[60] ^= 1;
  write_file(file, bytes);
  const std::string text = complaint(file);
  CAPTURE(text);
  CHECK(text.find("checksum/a.parquet: row group 0: ") == 0);
  CHECK(text.find("CRC") != std::string::npos);
}

// A damaged file is refused, or read with other values if nothing in it shows the damage.
TEST_CASE("files with random damage do not end the process") {
  std::mt19937 random(34);
  const fs::path folder = make_empty_folder("damaged");
  int refused = 0, mutations = 0;
  const int each = [] {
    const char* given = std::getenv("TENON_PARQUET_MUTATIONS");
    return given ? std::atoi(given) : 20;
  }();
  for (const char* name : {"types.parquet", "table/train.parquet", "images/data/train-00000-of-00002.parquet",
                           "compressed/none.parquet", "compressed/zstd.parquet", "compressed/lz4.parquet"}) {
    const std::vector<uint8_t> whole = read_bytes(kFiles / name);
    for (int i = 0; i < each; ++i, ++mutations) {
      std::vector<uint8_t> bytes = whole;
      for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
        bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1 + random() % 255);
      write_file(folder / "a.parquet", bytes);
      refused += !complaint(folder / "a.parquet").empty();
    }
  }
  CHECK(refused > mutations / 10);
}

}  // namespace parquet_test
