// Tests the built plugin text_pairs through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "plugins/text/tokenizer.h"
#include "tests/datasets/opened_dataset.h"
#include "tests/test_folder.h"

namespace text_pairs_test {

namespace fs = std::filesystem;

namespace {

const std::string kTextPairs = TENON_BINARY_DIR "/plugins/text_pairs.so";
const fs::path kReference = TENON_SOURCE_DIR "/tests/parity/reference";

using Ids = std::vector<int64_t>;

// Values of a tokenizer trained by SentencePiece's Python package.
struct Expectation {
  const char* model_type;
  int64_t vocabulary_size;
  int64_t pieces;
  std::vector<Ids> sources;          // of the first rows of tokens.tsv, without EOS
  std::vector<std::string> decoded;  // texts of `sources`
};
const std::vector<Expectation> kExpected = {
#include "tests/parity/reference/tokens.inc"
};

// The special ids of trained tokenizers.
constexpr int64_t kPad = 0;
constexpr int64_t kUnknown = 1;
constexpr int64_t kBegin = 2;
constexpr int64_t kEnd = 3;

std::string write_file(const std::string& name, const std::string& bytes) {
  const fs::path file = tenon::test_folder() / name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file.string();
}

ParamValues make_params(const std::string& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path},
                       {"format", "tsv"},
                       {"source", "source"},
                       {"target", "target"},
                       {"validation_fraction", 0.1},
                       {"vocabulary_size", int64_t{100}},
                       {"model_type", "char"},
                       {"character_coverage", 1.0},
                       {"max_source_tokens", int64_t{256}},
                       {"max_target_tokens", int64_t{256}},
                       {"too_long", "truncate"},
                       {"pad_id", int64_t{-1}},
                       {"bos_id", int64_t{-1}},
                       {"eos_id", int64_t{-1}}},
                      changes);
}

// Returns the error message for unreadable data, without the folder.
std::string refusal(const std::string& name, const std::string& bytes, const ParamValues& changes = {},
                    tenon_status status = TENON_BAD_DATA) {
  const std::string file = write_file(name, bytes);
  std::string text = refusal_of(status, [&] { OpenedDataset(kTextPairs, make_params(file, changes)); });
  for (size_t at = 0; (at = text.find(file)) != std::string::npos;) text.replace(at, file.size(), name);
  return text;
}

Ids joined(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Returns a field of all samples, as in batches.
std::vector<Ids> all_of(const OpenedDataset& dataset, const std::string& field) {
  std::vector<Ids> ids;
  for (int64_t i = 0; i < dataset.size(); ++i) ids.push_back(dataset.integers(i, field));
  return ids;
}

const std::string kTokens = (kReference / "tokens.tsv").string();

}  // namespace

TEST_CASE("tokens are those of SentencePiece's Python package, and their text has the same tokens again") {
  for (const Expectation& expected : kExpected) {
    CAPTURE(expected.model_type);
    CAPTURE(expected.vocabulary_size);
    const OpenedDataset dataset(kTextPairs, make_params(kTokens, {{"model_type", expected.model_type},
                                                                  {"vocabulary_size", expected.vocabulary_size},
                                                                  {"character_coverage", 0.9995}}));
    REQUIRE(OpenedDataset::log().size() == 1);
    CHECK(OpenedDataset::log()[0] ==
          kTokens + ": 200 pairs (split all), a vocabulary of " + std::to_string(expected.pieces) + " tokens");
    for (size_t row = 0; row < expected.sources.size(); ++row) {
      CHECK(dataset.integers(static_cast<int64_t>(row), "source") == joined({expected.sources[row], {kEnd}}));
    }
    CHECK(dataset.describe_tokenizer() == "source, target_in, target: " + std::to_string(expected.pieces) + " 2 3 0");
    REQUIRE(expected.decoded.size() == expected.sources.size());
    for (size_t row = 0; row < expected.sources.size(); ++row) {
      CHECK(dataset.decode(expected.sources[row]) == expected.decoded[row]);
      CHECK(dataset.encode(expected.decoded[row]) == expected.sources[row]);
    }
    CHECK(dataset.decode({}).empty());
    CHECK(dataset.encode("").empty());
  }
}

TEST_CASE("special ids of the parameters are those of the tokenizer's description") {
  const std::string file = write_file("special.tsv", "source\ttarget\nab\tcba\nb\ta\nc\tab\n");
  const OpenedDataset dataset(kTextPairs, make_params(file, {{"pad_id", int64_t{1}}, {"bos_id", int64_t{0}}}));
  CHECK(dataset.describe_tokenizer().ends_with(" 0 3 1"));
}

TEST_CASE("a pair has a source with EOS, and a target once after BOS and once before EOS") {
  const OpenedDataset dataset(kTextPairs,
                              make_params(write_file("three.tsv", "source\ttarget\nab\tcba\nb\ta\nc\tab\n")));
  CHECK(dataset.describe_fields() ==
        std::vector<std::string>{"source int64 -1", "target_in int64 -1", "target int64 -1"});
  CHECK(dataset.size() == 3);
  const Ids target = dataset.integers(0, "target");
  const Ids shifted = dataset.integers(0, "target_in");
  REQUIRE(target.size() == 5);  // SentencePiece puts a space before a text
  CHECK(target.back() == kEnd);
  CHECK(shifted.front() == kBegin);
  CHECK(Ids(target.begin(), target.end() - 1) == Ids(shifted.begin() + 1, shifted.end()));
  const Ids source = dataset.integers(0, "source");
  // The source has the letters a and b of the target in reverse order.
  CHECK(source == Ids{target[0], target[3], target[2], kEnd});
  CHECK(dataset.lengths() == std::vector<int64_t>{5, 3, 4});
}

TEST_CASE("both parts of a file use one tokenizer, and have no source in common") {
  const OpenedDataset all(kTextPairs, make_params(kTokens));
  const std::vector<Ids> whole = all_of(all, "source");
  std::set<Ids> parts[2];
  size_t rows = 0;
  for (const std::string split : {"train", "validation"}) {
    const OpenedDataset part(kTextPairs, make_params(kTokens, {{"split", split}, {"validation_fraction", 0.3}}));
    for (const Ids& ids : all_of(part, "source")) {
      CHECK(std::find(whole.begin(), whole.end(), ids) != whole.end());
      parts[split == "train"].insert(ids);
      ++rows;
    }
  }
  CHECK(rows == whole.size());
  CHECK(parts[0].size() >= 5);
  CHECK(parts[1].size() >= 5);
  for (const Ids& ids : parts[0]) CHECK(!parts[1].contains(ids));
}

TEST_CASE("another file uses the tokenizer of tokenizer_text, and unseen text is unknown") {
  const std::string train = write_file("train.tsv", "source\ttarget\nabcd\tdcba\nbad\tdab\n");
  const std::string test = write_file("test.tsv", "source\ttarget\ncab\tbaz\n");
  const OpenedDataset trained(kTextPairs, make_params(train));
  const OpenedDataset other(kTextPairs, make_params(test, {{"tokenizer_text", train}}));
  const Ids abcd = trained.integers(0, "source");
  CHECK(other.integers(0, "source") == Ids{abcd[0], abcd[3], abcd[1], abcd[2], kEnd});
  CHECK(other.integers(0, "target") == Ids{abcd[0], abcd[2], abcd[1], kUnknown, kEnd});
}

TEST_CASE("a table in another file has the tokenizer of the training data") {
  const std::string train = write_file("of_train.tsv", "source\ttarget\nabcd\tdcba\nbad\tdab\n");
  const std::string test = write_file("of_test.tsv", "source\ttarget\ncab\tbaz\n");
  const OpenedDataset trained(kTextPairs, make_params(train));
  const OpenedDataset expected(kTextPairs, make_params(test, {{"tokenizer_text", train}}));
  const OpenedDataset other(kTextPairs, make_params(test), trained.fitted_data());
  CHECK(other.fitted_data() == trained.fitted_data());
  for (const char* field : {"source", "target_in", "target"}) CHECK(all_of(other, field) == all_of(expected, field));
  CHECK(all_of(OpenedDataset(kTextPairs, make_params(test)), "source") != all_of(expected, "source"));
  CHECK_THROWS_AS(OpenedDataset(kTextPairs, make_params(test, {{"tokenizer_text", test}}), trained.fitted_data()),
                  Refused);
}

TEST_CASE("training a tokenizer is deterministic, and a tokenizer in use is shared") {
  const std::vector<std::string> texts = {"one mortise", "two tenons", "three joints fit",
                                          "one tenon fits one mortise"};
  for (const char* type : {"unigram", "bpe", "char"}) {
    const text::TokenizerTraining training{60, type, 1.0};
    auto first = text::train_tokenizer(texts, training, "texts");
    const std::string bytes = *first;
    CHECK(text::train_tokenizer(texts, training, "texts") == first);
    first.reset();
    CHECK(*text::train_tokenizer(texts, training, "texts") == bytes);
    CHECK(*text::train_tokenizer({"other", "texts"}, training, "texts") != bytes);
  }
}

TEST_CASE("a tokenizer is read from a file, and parameters replace missing special ids") {
  const std::string data = write_file("few.tsv", "source\ttarget\nab\tba\nba\tab\n");
  const auto model = text::train_tokenizer({"ab", "ba"}, {20, "char", 1.0}, "texts");
  const std::string file = write_file("few.model", *model);
  const OpenedDataset trained(kTextPairs, make_params(data, {{"vocabulary_size", int64_t{20}}}));
  const OpenedDataset given(kTextPairs, make_params(data, {{"tokenizer", file}}));
  for (const char* field : {"source", "target_in", "target"}) CHECK(all_of(given, field) == all_of(trained, field));

  const OpenedDataset chosen(
      kTextPairs, make_params(data, {{"tokenizer", file}, {"bos_id", kUnknown}, {"eos_id", kPad}, {"pad_id", kEnd}}));
  CHECK(chosen.integers(0, "target_in").front() == kUnknown);
  CHECK(chosen.integers(0, "source").back() == kPad);
  CHECK(refusal("few.tsv", "source\ttarget\na\tb\n", {{"tokenizer", file}, {"pad_id", int64_t{1000}}},
                TENON_INVALID_ARGUMENT)
            .find("pad_id = 1000: is not a piece of the tokenizer; expected an id below its vocabulary size, ") == 0);
}

TEST_CASE("CSV and JSON lines give the same pairs, also with a JSON pointer") {
  const std::string plain = write_file("p.tsv", "source\ttarget\na, b\tsay \"b\"\nb\ta\n");
  const std::string csv = write_file("p.csv", "target,n,source\n\"say \"\"b\"\"\",1,\"a, b\"\na,2,b\n");
  const std::string json = write_file("p.jsonl",
                                      "{\"source\": \"a, b\", \"target\": \"say \\\"b\\\"\", \"n\": 1}\r\n"
                                      "{\"target\": \"a\", \"source\": \"b\"}\n");
  const std::string nested = write_file("n.jsonl",
                                        "{\"translation\": {\"en\": \"a, b\", \"fr\": \"say \\\"b\\\"\"}}\n"
                                        "{\"translation\": {\"en\": \"b\", \"fr\": \"a\"}}");
  const std::string headless = write_file("h.tsv", "a, b\t1\tsay \"b\"\r\nb\t2\ta\r\n");
  const OpenedDataset expected(kTextPairs, make_params(plain));
  const OpenedDataset others[] = {
      {kTextPairs, make_params(csv, {{"format", "csv"}})},
      {kTextPairs, make_params(json, {{"format", "json_lines"}})},
      {kTextPairs,
       make_params(nested, {{"format", "json_lines"}, {"source", "/translation/en"}, {"target", "/translation/fr"}})},
      {kTextPairs, make_params(headless, {{"columns", std::vector<std::string>{"source", "n", "target"}}})}};
  for (const OpenedDataset& other : others) {
    for (const char* field : {"source", "target_in", "target"}) CHECK(all_of(other, field) == all_of(expected, field));
  }
}

TEST_CASE("blank lines, CR LF and a byte order mark do not matter in any format") {
  const std::string tsv = "source\ttarget\na\tb\nb\ta\n";
  const std::string json = "{\"source\": \"a\", \"target\": \"b\"}\n{\"source\": \"b\", \"target\": \"a\"}\n";
  const OpenedDataset expected(kTextPairs, make_params(write_file("plain.tsv", tsv)));
  const auto spoil = [](const std::string& text) {
    std::string spoiled = "\xEF\xBB\xBF";
    for (const char c : text) spoiled += c == '\n' ? std::string("\r\n\r\n  \n") : std::string(1, c);
    return spoiled + "\n\n";
  };
  const OpenedDataset others[] = {
      {kTextPairs, make_params(write_file("spoiled.tsv", spoil(tsv)))},
      {kTextPairs, make_params(write_file("spoiled.jsonl", spoil(json)), {{"format", "json_lines"}})},
      {kTextPairs, make_params(write_file("spoiled.csv", spoil("source,target\na,b\nb,a\n")), {{"format", "csv"}})}};
  for (const OpenedDataset& other : others)
    for (const char* field : {"source", "target"}) CHECK(all_of(other, field) == all_of(expected, field));
  CHECK(refusal("place.tsv", "\n\nsource\ttarget\n\na\n") ==
        "place.tsv:5: has 1 cells; expected 2, for the columns \"source\", \"target\"");
}

TEST_CASE("a pair that is too long is cut off before an EOS, left out, or refused") {
  const std::string table = "source\ttarget\nabcdef\tab\nab\tabcdef\na\tb\n";
  const std::string file = write_file("long.tsv", table);
  const ParamValues limits = {{"max_source_tokens", int64_t{5}}, {"max_target_tokens", int64_t{4}}};
  const auto with = [&](const std::string& too_long) { return with_changes(limits, {{"too_long", too_long}}); };
  const OpenedDataset whole(kTextPairs, make_params(file));
  const OpenedDataset cut(kTextPairs, make_params(file, with("truncate")));
  CHECK(OpenedDataset::log().front().ends_with(", 2 too long and cut off"));
  CHECK(cut.size() == 3);
  const Ids source = whole.integers(0, "source");
  CHECK(cut.integers(0, "source") == joined({Ids(source.begin(), source.begin() + 4), {kEnd}}));
  const Ids target = whole.integers(1, "target");
  CHECK(cut.integers(1, "target") == joined({Ids(target.begin(), target.begin() + 3), {kEnd}}));
  CHECK(cut.integers(0, "target") == whole.integers(0, "target"));
  CHECK(cut.lengths() == std::vector<int64_t>{5, 4, 3});

  const OpenedDataset left(kTextPairs, make_params(file, with("leave_out")));
  CHECK(OpenedDataset::log().front().ends_with(", 2 too long and left out"));
  CHECK(left.size() == 1);
  CHECK(left.integers(0, "source") == whole.integers(2, "source"));

  CHECK(refusal("long.tsv", table, with("refuse")) ==
        "long.tsv:2: has 8 source and 4 target tokens; expected at most 5 and 4; raise max_source_tokens or "
        "max_target_tokens, or choose another too_long");
}

TEST_CASE("unknown tokens, cut pairs and quotes are reported with counts") {
  const std::string train = write_file("known.tsv", "source\ttarget\nabcd\tdcba\nbad\tdab\n");
  const OpenedDataset trained(kTextPairs, make_params(train));
  const std::string greek = write_file("greek.tsv", "source\ttarget\n\u03B1\u03B2\tab\n\u03B3\tba\n");
  const OpenedDataset other(kTextPairs, make_params(greek), trained.fitted_data());
  REQUIRE(OpenedDataset::log().size() == 2);
  CHECK(OpenedDataset::log()[1].find(greek + ": sources: ") == 0);
  CHECK(OpenedDataset::log()[1].find(
            " tokens are unknown: the tokenizer was trained on a text with other characters") != std::string::npos);

  const OpenedDataset cut(kTextPairs, make_params(train, {{"max_target_tokens", int64_t{3}}}));
  CHECK(OpenedDataset::log().back().find(train + ": 2 of its 2 pairs are longer than max_source_tokens = 256 or "
                                                 "max_target_tokens = 3, and are cut off") == 0);

  const std::string quoted = write_file("quoted.tsv", "source\ttarget\na \"b\"\tb\n\"a \"\"b\"\"\"\tb\n");
  const OpenedDataset literal(kTextPairs, make_params(quoted));
  CHECK(OpenedDataset::log()[0].find(quoted + ": 1 cell begins and ends with a quote, first at " + quoted +
                                     ":3; a tsv has no quoting") == 0);
}

TEST_CASE("the index of pandas is not read, and UTF-16 is refused by name in each format") {
  const OpenedDataset expected(kTextPairs,
                               make_params(write_file("p.csv", "source,target\nab,ba\nb,a\n"), {{"format", "csv"}}));
  const OpenedDataset indexed(
      kTextPairs, make_params(write_file("i.csv", ",source,target\n0,ab,ba\n1,b,a\n"), {{"format", "csv"}}));
  CHECK(OpenedDataset::log()[0].find("the first column has no name and numbers the rows") != std::string::npos);
  for (const char* field : {"source", "target"}) CHECK(all_of(indexed, field) == all_of(expected, field));
  const std::map<std::string, std::string> tables = {{"tsv", "source\ttarget\nab\tba\n"},
                                                     {"csv", "source,target\nab,ba\n"},
                                                     {"json_lines", "{\"source\": \"ab\", \"target\": \"ba\"}\n"}};
  for (const auto& [format, text] : tables) {
    CAPTURE(format);
    std::string wide;
    for (const char c : text) wide += {c, '\0'};
    const ParamValues changes = {{"format", format}};
    CHECK(refusal("w", wide, changes).find("w: is UTF-16LE; expected UTF-8; convert it with iconv") == 0);
    CHECK(refusal("w", "\xFF\xFE" + wide, changes).find("w: is UTF-16; expected UTF-8") == 0);
  }
}

TEST_CASE("errors in a table are reported with file and line") {
  const auto refused = [](const std::string& bytes, const ParamValues& changes = {}) {
    return refusal("wrong", bytes, changes);
  };
  const ParamValues json = {{"format", "json_lines"}};
  CHECK(refused("") == "wrong: is empty; expected a text file");
  CHECK(refused("source\ttarget\n") == "wrong: has no rows; expected one row per sample");
  CHECK(refused("from\tto\na\tb\n") ==
        "wrong:1: there is no column \"source\"; there are \"from\", \"to\"; if the file has no header, set the "
        "column names in the parameter columns");
  CHECK(refused("source\ttarget\na\tb\na\n") ==
        "wrong:3: has 1 cells; expected 2, for the columns \"source\", \"target\"");
  CHECK(refused("source\ttarget\na\t \n") == "wrong:2: column \"target\" is blank; expected text; remove the row");
  CHECK(refused("source\ttarget\na\tb\xFF\n") ==
        "wrong:2: column \"target\" is not UTF-8 at byte 1; convert the file to UTF-8");
  CHECK(refused("source,target\na,b\nc\n", {{"format", "csv"}}) ==
        "wrong:3: has 1 cells; expected 2, as the header has");
  CHECK(refused("source,to\na,b\n", {{"format", "csv"}}) ==
        "wrong:1: there is no column \"target\"; there are \"source\", \"to\"");
  CHECK(refused("[1]\n", json) == "wrong:1: is not a JSON object; expected one per line");
  CHECK(refused("{\"source\": \"a\", \"target\": \"b\"}\n{\"source\": \"a\"}\n", json) ==
        "wrong:2: has no \"target\"; expected a string with that key");
  CHECK(refused("{\"source\": 3, \"target\": \"b\"}\n", json) ==
        "wrong:1: \"source\" has the type number; expected a string");
  CHECK(refused("{\"source\": \"a\"\n", json).find("wrong:1: [json.exception.parse_error") == 0);
  CHECK(refused("source\ttarget\na\tb\n", {{"split", "validation"}, {"validation_fraction", 1e-9}}) ==
        "wrong: none of its pairs is in the split \"validation\" and short enough; change validation_fraction or the "
        "length limits, or add pairs");
}

TEST_CASE("errors in parameters and tokenizers are reported") {
  const std::string table = "source\ttarget\nthe quick brown fox\tjumps over it\n";
  CHECK(refusal("t", table, {{"format", "csv"}, {"columns", std::vector<std::string>{"a", "b"}}},
                TENON_INVALID_ARGUMENT) ==
        "columns = [\"a\", \"b\"] with format = \"csv\"; only a tsv can be without a header; remove columns");
  const std::string few =
      refusal("t", table, {{"vocabulary_size", int64_t{8}}, {"model_type", "unigram"}}, TENON_INVALID_ARGUMENT);
  CHECK(few.find("t: cannot train a tokenizer from its 2 texts with vocabulary_size = 8: ") == 0);
  const std::string no_model = write_file("no.model", "no model at all");
  CHECK(refusal("t", table, {{"tokenizer", no_model}}).find(no_model + ": is not a SentencePiece model") == 0);
  CHECK(refusal("t", table, {{"tokenizer", "/nowhere"}}) ==
        "/nowhere: cannot be read: No such file or directory; expected a SentencePiece model");
}

}  // namespace text_pairs_test
