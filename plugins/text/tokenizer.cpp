#include "plugins/text/tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include <tenon/error.hpp>

#include "framework/formats/regular_file.h"
#include "plugins/datasets/shared/warn.h"

namespace text {
namespace {

// Numbers of fields in sentencepiece_model.proto.
constexpr uint32_t kPieces = 1, kNormalizer = 3, kDenormalizer = 5;  // of ModelProto
constexpr uint32_t kPiece = 1, kType = 3;                            // of SentencePiece
constexpr uint32_t kCharsmap = 2;                                    // of NormalizerSpec
constexpr uint32_t kUserDefined = 4;                                 // a type of SentencePiece

// Arrays of these sizes are on the stack of SentencePiece, which reads all matches of a text from them.
constexpr int kMostReplacements = 32;  // Normalizer::kMaxTrieResultsSize
constexpr size_t kMostSymbols = 64;    // PrefixMatcher::PrefixMatch()

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw tenon::DataError(place + ": is not a SentencePiece model: " + what + "; expected a file that spm_train wrote");
}

// Reads the fields of a message of Protocol Buffers.
class Fields {
 public:
  Fields(std::string_view message, const std::string& place) : rest_(message), place_(place) {}

  // Returns false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const auto tag = static_cast<uint32_t>(read_varint());  // Protocol Buffers keeps 32 bits
    number_ = tag >> 3;
    text_ = {};
    value_ = 0;
    switch (tag & 7) {
      case 0: value_ = read_varint(); break;
      case 1: take(8); break;
      case 2: text_ = take(read_varint()); break;
      case 5: take(4); break;
      default: refuse_damage();  // groups, which SentencePiece does not use
    }
    return true;
  }

  uint32_t number() const { return number_; }
  uint64_t value() const { return value_; }
  std::string_view text() const { return text_; }

 private:
  [[noreturn]] void refuse_damage() const { refuse(place_, "its fields are damaged"); }

  uint64_t read_varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1).front());
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    refuse_damage();
  }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) refuse_damage();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  const std::string& place_;
  uint32_t number_ = 0;
  uint64_t value_ = 0;
  std::string_view text_;
};

// The double array of Darts-clone: each unit has the label that leads to it, and the place of the next units.
class Trie {
 public:
  explicit Trie(std::string_view bytes) : units_(bytes.size() / sizeof(uint32_t)) {
    if (!units_.empty()) std::memcpy(units_.data(), bytes.data(), units_.size() * sizeof(uint32_t));
  }

  // Returns the largest number of values on a path from the first unit. Nothing if a path leads outside the array or
  // back to itself, or if a value is not below `most_value`.
  std::optional<int> count_values_on_path(size_t most_value) const {
    if (units_.empty()) return std::nullopt;
    constexpr int kUnknown = -1, kOpen = -2;
    std::vector<int> most(units_.size(), kUnknown);  // values after each unit; branches may share units
    std::vector<size_t> path = {0};
    while (!path.empty()) {
      const size_t unit = path.back();
      const size_t next = unit ^ offset(unit);
      if ((next | 255) >= units_.size()) return std::nullopt;
      if (unit != 0 && has_value(unit) && value(next) >= most_value) return std::nullopt;
      most[unit] = kOpen;
      int after = 0;
      std::optional<size_t> unknown;
      for (uint32_t byte = 0; byte < 256 && !unknown; ++byte) {
        const size_t child = next ^ byte;
        if (label(child) != byte) continue;
        if (most[child] == kOpen) return std::nullopt;
        if (most[child] == kUnknown) unknown = child;
        after = std::max(after, most[child] + (has_value(child) ? 1 : 0));
      }
      if (unknown) {
        path.push_back(*unknown);
      } else {
        most[unit] = after;
        path.pop_back();
      }
    }
    return most[0];
  }

 private:
  size_t offset(size_t unit) const { return (units_[unit] >> 10) << ((units_[unit] & (1u << 9)) >> 6); }
  bool has_value(size_t unit) const { return (units_[unit] >> 8 & 1) == 1; }
  uint32_t value(size_t unit) const { return units_[unit] & 0x7FFF'FFFF; }
  uint32_t label(size_t unit) const { return units_[unit] & 0x8000'00FF; }

  std::vector<uint32_t> units_;
};

// A table of character replacements has the size of a trie, the trie, and texts with a zero byte at each end. The
// values of the trie are places in the texts.
void check_charsmap(std::string_view map, const std::string& place) {
  constexpr uint32_t kMostBytes = uint32_t{8} << 20;  // that of Unicode's NFKC has 0.2 MiB
  if (map.empty()) return;
  uint32_t trie_bytes = 0;
  if (map.size() <= sizeof trie_bytes) refuse(place, "its table of character replacements is cut short");
  std::memcpy(&trie_bytes, map.data(), sizeof trie_bytes);
  map.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > map.size() || trie_bytes > kMostBytes)
    refuse(place, "its table of character replacements is cut short");
  const std::string_view texts = map.substr(trie_bytes);
  const auto values = Trie(map.substr(0, trie_bytes)).count_values_on_path(texts.size());
  if (!values || *values > kMostReplacements || texts.empty() || texts.back() != '\0')
    refuse(place, "its table of character replacements is damaged");
}

void check_symbols(std::vector<std::string_view> symbols, const std::string& place) {
  std::sort(symbols.begin(), symbols.end());
  std::vector<std::string_view> begins;  // symbols that the current one begins with
  for (const std::string_view symbol : symbols) {
    while (!begins.empty() && !symbol.starts_with(begins.back())) begins.pop_back();
    begins.push_back(symbol);
    if (begins.size() > kMostSymbols)
      refuse(place, "more than " + std::to_string(kMostSymbols) + " of its user-defined symbols begin with each other");
  }
}

// Checks a SentencePiece model before the library loads it. The file is untrusted, and the library follows the offsets
// in it without checking them. `model`: a serialized ModelProto of sentencepiece_model.proto. Throws tenon::DataError
// that starts with `place` if the fields are cut short, if a table of character replacements (precompiled_charsmap)
// leads outside itself, or if more user-defined symbols begin with each other than the library has room for. Other
// errors are left to the library.
void check_tokenizer_model(std::string_view model, const std::string& place) {
  std::vector<std::string_view> symbols;
  for (Fields fields(model, place); fields.next();) {
    if (fields.number() == kPieces) {
      std::string_view piece;
      bool is_symbol = false;
      for (Fields inner(fields.text(), place); inner.next();) {
        if (inner.number() == kPiece) piece = inner.text();
        if (inner.number() == kType && static_cast<uint32_t>(inner.value()) == kUserDefined) is_symbol = true;
      }
      // The library finds symbols up to the first zero byte.
      if (is_symbol) symbols.push_back(piece.substr(0, piece.find('\0')));
    } else if (fields.number() == kNormalizer || fields.number() == kDenormalizer) {
      for (Fields inner(fields.text(), place); inner.next();)
        if (inner.number() == kCharsmap) check_charsmap(inner.text(), place);
    }
  }
  check_symbols(std::move(symbols), place);
}

}  // namespace

Tokenizer::Tokenizer(const std::string& model, const std::string& place)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  check_tokenizer_model(model, place);
  std::string reason;
  try {
    const auto status = processor_->LoadFromSerializedProto(model);
    if (status.ok() && processor_->GetPieceSize() > 0) return;
    if (!status.ok()) reason = ": " + status.ToString();
  } catch (const std::exception& error) {  // such as too many pieces for the trie
    reason = std::string(": ") + error.what();
  }
  throw tenon::DataError(place + ": is not a SentencePiece model" + reason + "; expected a file that spm_train wrote");
}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

int64_t Tokenizer::vocabulary_size() const { return processor_->GetPieceSize(); }

SpecialIds Tokenizer::special_ids() const {
  return {processor_->pad_id(), processor_->bos_id(), processor_->eos_id(), processor_->unk_id()};
}

void Tokenizer::append_ids(std::string_view text, std::vector<int32_t>& ids) const {
  std::vector<int> found;
  const auto status = processor_->Encode(text, &found);
  if (!status.ok()) throw tenon::DataError("cannot be tokenized: " + status.ToString());
  ids.insert(ids.end(), found.begin(), found.end());
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  const auto status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  if (!status.ok()) throw tenon::DataError("cannot be decoded: " + status.ToString());
  return text;
}

int32_t special_id(const tenon::Params& params, const char* parameter, int64_t of_tokenizer, int64_t vocabulary_size) {
  const int64_t given = params.integer(parameter);
  const int64_t id = given == -1 ? of_tokenizer : given;
  if (id >= 0 && id < vocabulary_size) return static_cast<int32_t>(id);
  throw tenon::Error(TENON_INVALID_ARGUMENT,
                     std::string(parameter) + " = " + std::to_string(given) + ": " +
                         (given == -1 ? "the tokenizer has no such piece" : "is not a piece of the tokenizer") +
                         "; expected an id below its vocabulary size, " + std::to_string(vocabulary_size));
}

void warn_about_unknown(size_t unknown, size_t tokens, const std::string& place) {
  // In words of unknown letters, which are one token, the space before the word and EOS are known.
  if (unknown * 3 < tokens || unknown == 0) return;
  datasets::warn(place + ": " + std::to_string(unknown) + " of its " + std::to_string(tokens) +
                 " tokens are unknown: the tokenizer was trained on a text with other characters; expected texts of "
                 "the same language and writing, or a tokenizer_text with all characters");
}

std::string read_tokenizer_file(const std::string& path) {
  // Protocol Buffers count the bytes of a message with an int.
  return formats::read_whole(path, "a SentencePiece model", INT_MAX);
}

}  // namespace text
