// Tests the built plugin text_windows through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <tenon/random.hpp>

#include "plugins/text/tokenizer.h"
#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"
#include "tests/test_folder.h"

namespace text_windows_test {

namespace fs = std::filesystem;

namespace {

const std::string kTextWindows = TENON_BINARY_DIR "/plugins/text_windows.so";

using Ids = std::vector<int64_t>;

std::string write_file(const std::string& name, const std::string& bytes) {
  const fs::path file = tenon::test_folder() / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  return file.string();
}

ParamValues make_params(const std::string& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path},
                       {"context", int64_t{4}},
                       {"stride", int64_t{0}},
                       {"validation_fraction", 0.1},
                       {"tokens", "bytes"},
                       {"vocabulary_size", int64_t{100}},
                       {"model_type", "char"},
                       {"character_coverage", 1.0}},
                      changes);
}

// Returns all tokens in the order of the text, from windows that do not overlap.
Ids read_tokens(const OpenedDataset& dataset) {
  Ids ids = {dataset.integers(0, "tokens")[0]};
  for (int64_t i = 0; i < dataset.size(); ++i)
    for (const int64_t id : dataset.integers(i, "target"))
      if (id != -100) ids.push_back(id);
  return ids;
}

Ids ids_of(const std::string& bytes) { return Ids(bytes.begin(), bytes.end()); }

// Returns the error message for invalid data or parameters, without the folder.
std::string refusal(const std::string& name, const std::string& bytes, const ParamValues& changes = {},
                    tenon_status status = TENON_BAD_DATA) {
  const std::string file = write_file(name, bytes);
  std::string text = refusal_of(status, [&] { OpenedDataset(kTextWindows, make_params(file, changes)); });
  for (size_t at = 0; (at = text.find(file)) != std::string::npos;) text.replace(at, file.size(), name);
  return text;
}

}  // namespace

TEST_CASE("a window has context tokens and the tokens after them, and each token except the first is a target once") {
  const std::string file = write_file("ten.txt", "abcdefghij");
  const OpenedDataset dataset(kTextWindows, make_params(file));
  CHECK(dataset.describe_fields() == std::vector<std::string>{"tokens int64 4", "target int64 4"});
  REQUIRE(dataset.size() == 3);
  CHECK(dataset.integers(0, "tokens") == ids_of("abcd"));
  CHECK(dataset.integers(0, "target") == ids_of("bcde"));
  CHECK(dataset.integers(1, "tokens") == ids_of("efgh"));
  CHECK(dataset.integers(2, "tokens") == Ids{'i', 0, 0, 0});
  CHECK(dataset.integers(2, "target") == Ids{'j', -100, -100, -100});
  REQUIRE(OpenedDataset::log().size() == 1);
  CHECK(OpenedDataset::log()[0] == file + ": 10 tokens (split all) in 3 windows, a vocabulary of 256 tokens");
}

TEST_CASE("windows cover a text of any length, and no window is without a target") {
  for (size_t length = 2; length < 20; ++length) {
    CAPTURE(length);
    std::string text;
    for (size_t i = 0; i < length; ++i) text += static_cast<char>('a' + i);
    const std::string file = write_file("length.txt", text);
    CHECK(read_tokens(OpenedDataset(kTextWindows, make_params(file))) == ids_of(text));
    const OpenedDataset overlapping(kTextWindows, make_params(file, {{"stride", int64_t{3}}}));
    for (int64_t i = 0; i < overlapping.size(); ++i) {
      const Ids tokens = overlapping.integers(i, "tokens");
      const Ids target = overlapping.integers(i, "target");
      CHECK(tokens[0] == 'a' + 3 * i);
      CHECK(target[0] == tokens[0] + 1);
      // Only the last window reaches the end.
      const bool has_last = std::find(target.begin(), target.end(), text.back()) != target.end();
      CHECK(has_last == (i + 1 == overlapping.size()));
    }
  }
}

TEST_CASE("validation is the end of the text, and training is everything before it") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>('A' + i % 50);
  const std::string file = write_file("parts.txt", text);
  const auto part = [&](const std::string& split) {
    return read_tokens(
        OpenedDataset(kTextWindows, make_params(file, {{"split", split}, {"validation_fraction", 0.25}})));
  };
  CHECK(part("train") == ids_of(text.substr(0, 150)));
  CHECK(part("validation") == ids_of(text.substr(150)));
}

TEST_CASE("characters are numbered by code point, the same in every split") {
  const std::string text =
      "b\xC3\xA4\n\xE2\x82\xAC\xF0\x9F\x98\x80z\xC3\xA4"
      "bz";  // b ä LF euro face z ä b z
  const std::string file = write_file("characters.txt", text);
  const OpenedDataset all(kTextWindows, make_params(file, {{"tokens", "characters"}}));
  CHECK(read_tokens(all) == Ids{1, 3, 0, 4, 5, 2, 3, 1, 2});
  CHECK(OpenedDataset::log()[0].ends_with("9 tokens (split all) in 2 windows, a vocabulary of 6 tokens"));
  const OpenedDataset end(
      kTextWindows,
      make_params(file, {{"tokens", "characters"}, {"split", "validation"}, {"validation_fraction", 0.33}}));
  CHECK(read_tokens(end) == Ids{3, 1, 2});
}

TEST_CASE("pieces are SentencePiece's pieces of each line, followed by EOS") {
  const std::string file = write_file("lines.txt", "one tenon\n\n  \ntwo joints\r\none");
  const ParamValues pieces = {{"tokens", "pieces"}};
  const Ids ids = read_tokens(OpenedDataset(kTextWindows, make_params(file, pieces)));
  CHECK(std::count(ids.begin(), ids.end(), 3) == 3);
  CHECK(ids.back() == 3);
  // "one" with the space that SentencePiece puts before it, at the beginning and at the end of the text.
  CHECK(Ids(ids.begin(), ids.begin() + 4) == Ids(ids.end() - 5, ids.end() - 1));

  const auto model = text::train_tokenizer({"one tenon", "two joints\r", "one"}, {100, "char", 1.0}, "lines");
  const std::string tokenizer = write_file("lines.model", *model);
  CHECK(read_tokens(OpenedDataset(kTextWindows, make_params(file, {{"tokens", "pieces"}, {"tokenizer", tokenizer}}))) ==
        ids);
}

TEST_CASE("any bytes are tokens, which are the same bytes again") {
  const OpenedDataset dataset(kTextWindows, make_params(write_file("any.txt", "abc")));
  CHECK(dataset.describe_tokenizer() == "tokens, target: 256 -1 -1 -1");
  tenon::Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (auto left = random.integer(64); left > 0; --left) bytes += static_cast<char>(random.integer(256));
    CHECK(dataset.decode(dataset.encode(bytes)) == bytes);
  }
}

TEST_CASE("the text of characters and pieces is the text that was read") {
  const std::string text = "b\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80z";
  const std::string file = write_file("decoded.txt", text);
  const OpenedDataset characters(kTextWindows, make_params(file, {{"tokens", "characters"}}));
  CHECK(characters.describe_tokenizer() == "tokens, target: 6 -1 -1 -1");
  CHECK(characters.decode(read_tokens(characters)) == text);
  CHECK(characters.encode(text) == read_tokens(characters));
  CHECK(refusal_of(TENON_BAD_DATA, [&] { characters.encode("bq"); }) ==
        "the character \"q\" is not one of the 6 characters of the training text; leave it out, or set "
        "tokenizer_text of the training data to a text with all characters");

  const OpenedDataset pieces(kTextWindows, make_params(file, {{"tokens", "pieces"}}));
  CHECK(pieces.describe_tokenizer().ends_with(" 2 3 0"));
  Ids tokens = read_tokens(pieces);
  CHECK(tokens.back() == 3);
  tokens.pop_back();
  CHECK(pieces.decode(tokens) == text);
  CHECK(pieces.encode(text) == tokens);
}

TEST_CASE("a text in another file has the tokens of the training data") {
  const std::string train = write_file("train.txt", "the quick brown fox jumps over a lazy dog\nover and over\n");
  const std::string text = "over the dog\n";
  const std::string other = write_file("other.txt", text);
  for (const std::string tokens : {"bytes", "characters", "pieces"}) {
    CAPTURE(tokens);
    const OpenedDataset trained(kTextWindows, make_params(train, {{"tokens", tokens}}));
    const OpenedDataset same(kTextWindows, make_params(other, {{"tokens", tokens}}), trained.fitted_data());
    CHECK(same.describe_tokenizer() == trained.describe_tokenizer());
    CHECK(same.fitted_data() == trained.fitted_data());
    CHECK(same.encode("lazy dog") == trained.encode("lazy dog"));
    Ids expected = trained.encode(tokens == "pieces" ? "over the dog" : text);
    if (tokens == "pieces") expected.push_back(3);
    CHECK(read_tokens(same) == expected);
    // Alone, it has others.
    const OpenedDataset alone(kTextWindows, make_params(other, {{"tokens", tokens}}));
    CHECK((alone.describe_tokenizer() == trained.describe_tokenizer()) == (tokens == "bytes"));
    // The parameter names the same vocabulary, or another one.
    if (tokens == "bytes") continue;
    const auto with = [&](const std::string& file) {
      return make_params(other, {{"tokens", tokens}, {"tokenizer_text", file}});
    };
    CHECK(OpenedDataset(kTextWindows, with(train)).fitted_data() == trained.fitted_data());
    CHECK(OpenedDataset(kTextWindows, with(train), trained.fitted_data()).encode("dog") == trained.encode("dog"));
    CHECK(OpenedDataset(kTextWindows, with("/gone.txt"), trained.fitted_data()).encode("dog") == trained.encode("dog"));
    CHECK(
        refusal_of(TENON_INVALID_ARGUMENT, [&] { OpenedDataset(kTextWindows, with(other), trained.fitted_data()); }) ==
        "tokenizer_text = " + other +
            ": is another vocabulary than that of the training data; expected the same tokens: remove the "
            "parameter, or train with it");
  }
}

TEST_CASE("a text that the vocabulary of the training data cannot express is refused") {
  const OpenedDataset trained(kTextWindows, make_params(write_file("abc.txt", "abcabc"), {{"tokens", "characters"}}));
  const auto message = [&](const std::string& text, const ParamValues& changes, const std::string& fitted) {
    const std::string file = write_file("unknown.txt", text);
    return error_of<Refused>([&] { OpenedDataset(kTextWindows, make_params(file, changes), fitted); });
  };
  const std::string place = (tenon::test_folder() / "unknown.txt").string();
  CHECK(message("abxyzxw", {{"tokens", "characters"}}, trained.fitted_data()) ==
        place +
            ": 4 characters, such as \"w\", \"x\", \"y\", are not of the 3 characters of the training text; leave "
            "them out, or set tokenizer_text of the training data to a text with all characters");
  CHECK(message("abc", {{"tokens", "bytes"}}, trained.fitted_data()) ==
        "tokens = \"bytes\", but those of the training data are \"characters\"; expected the same tokens");
  CHECK(message("abc", {{"tokens", "characters"}}, "damaged") ==
        "the saved vocabulary begins with \"damaged\"; expected bytes, characters or pieces: it was written by another "
        "version of the plugin");
  CHECK(message("abc", {{"tokenizer_text", place}}, "") ==
        "tokenizer_text is set, but tokens = \"bytes\" does not use it; remove it, or set tokens = \"pieces\"");
  CHECK(message("abc", {{"tokens", "characters"}, {"tokenizer", place}}, "") ==
        "tokenizer is set, but tokens = \"characters\" does not use it; remove it, or set tokens = \"pieces\"");
  CHECK(message("abc", {{"tokens", "pieces"}, {"tokenizer", place}, {"tokenizer_text", place}}, "") ==
        "tokenizer and tokenizer_text are both set; expected one of them: remove tokenizer_text to use the model " +
            place);
}

TEST_CASE("a tokenizer is trained on texts of any length") {
  // The trainer leaves out texts of more than 64 KiB.
  std::string words, letters;
  while (words.size() < 200000) words += "one tenon ";
  while (letters.size() < 200000) letters += "\xC3\xA4\xE2\x82\xAC";
  const std::vector<std::string> texts = {words + "zeppelin", "joint", letters + "\xC3\xBC"};
  for (const std::string type : {"unigram", "bpe", "char"}) {
    CAPTURE(type);
    const text::Tokenizer tokenizer(*text::train_tokenizer(texts, {60, type, 1.0}, "texts"), "the model");
    for (const std::string text : {"zeppelin tenon joint", "\xC3\xA4\xE2\x82\xAC\xC3\xBC"}) {
      std::vector<int32_t> ids;
      tokenizer.append_ids(text, ids);
      CHECK(std::count(ids.begin(), ids.end(), 1) == 0);  // unknown
    }
  }
}

TEST_CASE("texts that the trainer leaves out are counted and named") {
  const std::string file = write_file("reserved.txt", "one two\nfull \xE2\x96\x85 block\ntwo \xE2\x96\x85\nthree\n");
  const OpenedDataset dataset(kTextWindows, make_params(file, {{"tokens", "pieces"}}));
  CHECK(OpenedDataset::log().front() ==
        file +
            ": 2 of its 4 texts have the character U+2585, which SentencePiece reserves, so the tokenizer is trained "
            "without them; the first is text 2; expected texts without it: replace the character");
}

TEST_CASE("a pattern reads all matching files in the order of their names, each beginning on a new line") {
  write_file("many/b.txt", "second");
  write_file("many/a.txt", "first\n");
  write_file("many/B.txt", "zeroth");
  write_file("many/other", "not this");
  const std::string folder = (tenon::test_folder() / "many").string();
  const OpenedDataset dataset(kTextWindows, make_params(folder + "/*.txt"));
  CHECK(read_tokens(dataset) == ids_of("zeroth\nfirst\nsecond"));
}

TEST_CASE("a byte order mark, CR LF and NFD do not change the characters, and UTF-16 is refused by name") {
  const std::string plain = "caf\xC3\xA9 is open\nand so on\n";
  std::string other = "\xEF\xBB\xBF";
  std::string wide;
  for (const char c : std::string("cafe\xCC\x81 is open\nand so on\n")) {
    other += c == '\n' ? std::string("\r\n") : std::string(1, c);
    wide += {c, '\0'};
  }
  const std::string mark = "\xEF\xBB\xBF" + plain;
  for (const std::string tokens : {"characters", "pieces"}) {
    CAPTURE(tokens);
    const ParamValues changes = {{"tokens", tokens}};
    const OpenedDataset expected(kTextWindows, make_params(write_file("plain.txt", plain), changes));
    const OpenedDataset read(kTextWindows, make_params(write_file("marked.txt", other), changes));
    CHECK(read_tokens(read) == read_tokens(expected));
    CHECK(read.describe_tokenizer() == expected.describe_tokenizer());
    const OpenedDataset validation(kTextWindows, make_params(write_file("marked.txt", other), changes),
                                   expected.fitted_data());
    CHECK(read_tokens(validation) == read_tokens(expected));
    CHECK(validation.encode("cafe\xCC\x81 is") == expected.encode("caf\xC3\xA9 is"));
    CHECK(refusal("wide.txt", wide, changes).find("wide.txt: is UTF-16LE; expected UTF-8; convert it with iconv") == 0);
  }
  CHECK(refusal("wide.txt", wide).find("wide.txt: is UTF-16LE; expected UTF-8") == 0);
  const std::string bytes = "a\r\nb";  // of any file
  CHECK(read_tokens(OpenedDataset(kTextWindows, make_params(write_file("b.txt", "\xEF\xBB\xBF" + bytes)))) ==
        ids_of(bytes));
  write_file("marks/a.txt", mark);
  write_file("marks/b.txt", mark);
  const std::string marks = (tenon::test_folder() / "marks/*.txt").string();
  const OpenedDataset two(kTextWindows, make_params(marks, {{"tokens", "characters"}}));
  CHECK(two.decode(read_tokens(two)) == plain + plain);
}

TEST_CASE("a text with mostly unknown pieces is reported") {
  const ParamValues pieces = {{"tokens", "pieces"}, {"model_type", "unigram"}, {"vocabulary_size", int64_t{33}}};
  const OpenedDataset trained(
      kTextWindows, make_params(write_file("latin.txt", "the quick brown fox jumps over a lazy dog\n"), pieces));
  const std::string greek = write_file("greek.txt", "\u03B1\u03B2\u03B3 \u03B4\u03B5\u03B6\n");
  const OpenedDataset other(kTextWindows, make_params(greek, pieces), trained.fitted_data());
  REQUIRE(OpenedDataset::log().size() == 2);
  CHECK(OpenedDataset::log()[0].find(greek + ": 2 of its 5 tokens are unknown") == 0);
}

TEST_CASE("errors in a text or its parameters are reported") {
  CHECK(refusal("empty.txt", "") == "empty.txt: is empty; expected a text");
  CHECK(refusal("short.txt", "a") ==
        "short.txt: 1 of its 1 tokens are in the split \"all\"; expected at least 2; change validation_fraction, or "
        "give a longer text");
  CHECK(refusal("few.txt", "abcdefghij", {{"split", "validation"}})
            .find("few.txt: 1 of its 10 tokens are in the "
                  "split \"validation\"") == 0);
  CHECK(refusal("latin.txt", "a\nb\xE4\n", {{"tokens", "characters"}}) ==
        "latin.txt: is not UTF-8 at byte 3, in line 2; convert it to UTF-8, or read it as tokens = \"bytes\"");
  CHECK(refusal("gap.txt", "abcdef", {{"stride", int64_t{5}}}, TENON_INVALID_ARGUMENT) ==
        "stride = 5 with context = 4; expected at most context; a larger stride would skip tokens");
  CHECK(refusal("pieces.txt", "abc def", {{"tokens", "pieces"}, {"tokenizer", "/nowhere"}}) ==
        "/nowhere: cannot be read: No such file or directory; expected a SentencePiece model");
  CHECK(error_of<Refused>([] { OpenedDataset(kTextWindows, make_params("/nowhere/*.txt")); }) ==
        "/nowhere/*.txt: no such file, and no file matches it as a pattern; expected a text file, or a pattern such "
        "as texts/*.txt");
}

}  // namespace text_windows_test
