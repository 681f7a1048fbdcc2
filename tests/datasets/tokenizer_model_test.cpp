// Tests that damaged SentencePiece models are refused, before the library follows the offsets in them.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <tenon/error.hpp>

#include "plugins/text/tokenizer.h"
#include "tests/datasets/written_images.h"

namespace tokenizer_model_test {

namespace {

using Units = std::vector<uint32_t>;

constexpr uint32_t kLeaf = 0x8000'0000;

// A model of the texts, with the table of character replacements that NFKC requires.
const std::string& trained() {
  static const std::string model =
      *text::train_tokenizer({"the cat sat", "on the mat", "the end"}, {40, "unigram", 1.0}, "trained.model");
  return model;
}

std::string refusal(const std::string& model) {
  return error_of<tenon::DataError>([&] { text::Tokenizer(model, "a.model"); });
}

std::string encode_varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

// A field of a message of Protocol Buffers.
std::string field(uint64_t number, const std::string& bytes) {
  return encode_varint(number << 3 | 2) + encode_varint(bytes.size()) + bytes;
}

template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// The model with this table of character replacements, which the last field of this number decides.
std::string with_table(const std::string& table) { return trained() + field(3, field(2, table)); }

std::string with_trie(const Units& units, const std::string& texts = std::string("b\0", 2)) {
  std::string trie;
  for (const uint32_t unit : units) trie += bytes_of(unit);
  return with_table(bytes_of(static_cast<uint32_t>(trie.size())) + trie + texts);
}

// A unit of a double array: the next units are at its place XOR the offset.
uint32_t unit(uint32_t offset, uint32_t label, bool has_value) {
  return offset << 10 | (has_value ? 256u : 0u) | label;
}

// A trie that replaces "a" by the text at `place`, and continues at unit `next` after it.
Units make_trie(uint32_t place, uint32_t next) {
  Units units(256, kLeaf);
  units[0] = unit(1, 0, false);
  const uint32_t at = 1 ^ 'a';
  units[at] = unit(at ^ next, 'a', true);
  if (next < units.size()) units[next] = kLeaf | place;
  return units;
}

// A user-defined symbol; `type`: 4, encoded.
std::string symbol(const std::string& text, const std::string& type = "\x04") {
  return field(1, field(1, text) + '\x15' + bytes_of(-1.0f) + '\x18' + type);
}

std::string symbols(int count) {
  std::string pieces;
  for (int i = 1; i <= count; ++i) pieces += symbol(std::string(static_cast<size_t>(i), '~'));
  return pieces;
}

const std::string kDamaged =
    "a.model: is not a SentencePiece model: its table of character replacements is damaged; expected a file that "
    "spm_train wrote";

}  // namespace

TEST_CASE("a trained model, and one with another table of character replacements, are read") {
  const text::Tokenizer tokenizer(trained(), "a.model");
  std::vector<int32_t> ids;
  tokenizer.append_ids("the cat", ids);
  CHECK(tokenizer.decode({ids.begin(), ids.end()}) == "the cat");
  const text::Tokenizer replacing(with_trie(make_trie(0, 200)), "a.model");
  ids.clear();
  replacing.append_ids("aaa", ids);
  CHECK(replacing.decode({ids.begin(), ids.end()}) == " ⁇ ");  // of "bbb"
}

TEST_CASE("a table of character replacements that leads outside itself is refused") {
  CHECK(refusal(with_trie(make_trie(0, 256))) == kDamaged);
  CHECK(refusal(with_trie(make_trie(0, 0x1F'FFFF))) == kDamaged);
  CHECK(refusal(with_trie(make_trie(2, 200))) == kDamaged);
  CHECK(refusal(with_trie(make_trie(0x7FFF'FFFF, 200))) == kDamaged);
  CHECK(refusal(with_trie(make_trie(0, 1 ^ 'a' ^ 'a'))) == kDamaged);  // a unit that leads to itself
  CHECK(refusal(with_trie(make_trie(0, 200), "b")) == kDamaged);
  CHECK(refusal(with_trie(make_trie(0, 200), "")) == kDamaged);
  CHECK(refusal(with_trie(Units(255, kLeaf))) == kDamaged);
  CHECK(refusal(with_trie({})) == kDamaged);
  for (const std::string& cut : {std::string(3, 'a'), bytes_of(uint32_t{1030}) + std::string(1027, '\0'),
                                 bytes_of(UINT32_MAX) + std::string(1024, '\0')})
    CHECK(refusal(with_table(cut)).find("its table of character replacements is cut short") != std::string::npos);
}

TEST_CASE("a model with more matches than the library has room for is refused") {
  // 40 units in a row: "a", "aa", ...; each has a value.
  Units units(256 * 42, kLeaf);
  for (uint32_t i = 0; i < 41; ++i) {
    const uint32_t at = i == 0 ? 0 : 256 * i + (1 ^ 'a');
    units[at] = unit(at ^ (256 * (i + 1) + 1), i == 0 ? 0 : 'a', i > 0);
    units[256 * (i + 1) + 1] = kLeaf;
  }
  CHECK(refusal(with_trie(units)) == kDamaged);
  CHECK(refusal(trained() + symbols(64)).empty());
  CHECK(refusal(trained() + symbols(65)) ==
        "a.model: is not a SentencePiece model: more than 64 of its user-defined symbols begin with each other; "
        "expected a file that spm_train wrote");
  const std::string longest(65, '~');
  CHECK_FALSE(refusal(trained() + symbols(64) + symbol(longest + std::string("\0x", 2))).empty());
  CHECK_FALSE(refusal(trained() + symbols(64) + symbol(longest, encode_varint(uint64_t{1} << 32 | 4))).empty());
}

TEST_CASE("a model with fields that are cut short is refused") {
  for (const std::string& end : {std::string("\x0A\x05"), std::string("\x0A"), std::string("\x15\x01"),
                                 std::string("\x0B"), std::string(11, '\xFF')}) {
    CHECK(refusal(trained() + end) ==
          "a.model: is not a SentencePiece model: its fields are damaged; expected a file that spm_train wrote");
  }
  CHECK(refusal("").find("is not a SentencePiece model") != std::string::npos);
}

}  // namespace tokenizer_model_test
