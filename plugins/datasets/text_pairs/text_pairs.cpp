// Pairs of texts as tokens, for sequence-to-sequence models: translation, transliteration, normalisation.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/draft/fitted_data.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/content_hash.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/shared/split.h"
#include "plugins/text/text_table.h"
#include "plugins/text/tokenizer.h"

namespace text_pairs {
namespace {

// Length limits for the sides of a pair, and the handling of longer pairs.
struct LengthLimits {
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("max_source_tokens", 256).range("[2, 1e9]").doc("maximum source length in tokens, including EOS"),
        tenon::param("max_target_tokens", 256).range("[2, 1e9]").doc("maximum target length in tokens, including EOS"),
        tenon::param("too_long", "truncate")
            .choices({"truncate", "leave_out", "refuse"})
            .doc("how to handle a longer pair: truncate it and end it with EOS, leave it out (the log counts both), or "
                 "report an error")};
  }

  explicit LengthLimits(const tenon::Params& params)
      : source(static_cast<size_t>(params.integer("max_source_tokens"))),
        target(static_cast<size_t>(params.integer("max_target_tokens"))),
        longer(longer_named(params.text("too_long"))) {}

  size_t source;
  size_t target;
  enum class Longer { truncate, leave_out, refuse } longer;

 private:
  static Longer longer_named(const std::string& name) {
    if (name == "refuse") return Longer::refuse;
    return name == "leave_out" ? Longer::leave_out : Longer::truncate;
  }
};

// The tokens of all pairs of a dataset, concatenated in a single array.
class TokenPairs {
 public:
  explicit TokenPairs(const LengthLimits& limits) : limits_(limits) {}

  // Appends the tokens of both texts, each followed by EOS. Throws tenon::DataError prefixed by `place` if the pair is
  // too long and LengthLimits::longer is `refuse`.
  void append(std::string_view source, std::string_view target, const text::Tokenizer& tokenizer, int32_t end,
              const std::string& place) {
    std::vector<int32_t> sides[2];
    tokenizer.append_ids(source, sides[0]);
    tokenizer.append_ids(target, sides[1]);
    const size_t limits[2] = {limits_.source, limits_.target};
    const bool is_too_long = sides[0].size() + 1 > limits[0] || sides[1].size() + 1 > limits[1];
    ++read_;
    too_long_ += is_too_long;
    if (is_too_long && limits_.longer == LengthLimits::Longer::leave_out) return;
    if (is_too_long && limits_.longer == LengthLimits::Longer::refuse) {
      throw tenon::DataError(place + ": has " + std::to_string(sides[0].size() + 1) + " source and " +
                             std::to_string(sides[1].size() + 1) + " target tokens; expected at most " +
                             std::to_string(limits[0]) + " and " + std::to_string(limits[1]) +
                             "; raise max_source_tokens or max_target_tokens, or choose another too_long");
    }
    for (size_t i = 0; i < 2; ++i) {
      sides[i].resize(std::min(sides[i].size(), limits[i] - 1));
      tokens_.insert(tokens_.end(), sides[i].begin(), sides[i].end());
      tokens_.push_back(end);
      ends_.push_back(tokens_.size());
    }
  }

  size_t size() const { return ends_.size() / 2; }
  std::span<const int32_t> source(size_t pair) const { return side(2 * pair); }
  std::span<const int32_t> target(size_t pair) const { return side(2 * pair + 1); }
  size_t read() const { return read_; }          // number of appended pairs
  size_t too_long() const { return too_long_; }  // number of appended pairs that were too long, left out or not

  // Of all tokens and the offsets of their ends.
  uint64_t hash() const { return formats::hash_elements(ends_, formats::hash_elements(tokens_)); }

 private:
  std::span<const int32_t> side(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::span(tokens_).subspan(begin, ends_[index] - begin);
  }

  LengthLimits limits_;
  std::vector<int32_t> tokens_;
  std::vector<size_t> ends_;  // ends of source and target, alternating; offsets into tokens_
  size_t read_ = 0;
  size_t too_long_ = 0;
};

constexpr int64_t kIgnored = -100;  // default ignore_index of losses and metrics

std::vector<std::string> column_names(const tenon::Params& params) {
  return {params.text("source"), params.text("target")};
}

class TextPairs {
 public:
  static std::vector<tenon::Param> schema() {
    const std::vector<tenon::Param> of_table = {
        tenon::required<tenon::Path>("path").doc("table in UTF-8 with one pair of texts per row"),
        tenon::param("source", "source")
            .doc("column that the model reads; for json_lines a name, or a JSON pointer such as /translation/en"),
        tenon::param("target", "target").doc("column that the model learns to write"),
    };
    const std::vector<tenon::Param> special = {
        tenon::param("pad_id", -1).range("[-1, 1e9]").doc("id for padding; -1: the tokenizer's padding id"),
        tenon::param("bos_id", -1).range("[-1, 1e9]").doc("first id of target_in; -1: the tokenizer's BOS"),
        tenon::param("eos_id", -1).range("[-1, 1e9]").doc("last id of source and target; -1: the tokenizer's EOS")};
    return datasets::join_params(
        {of_table, datasets::Split::schema("the source texts", "pairs"),
         text::tokenizer_schema("of both texts",
                                "table with the same columns for training a tokenizer, from the rows of all splits",
                                "path of the training data"),
         text::TableFormat::schema(), text::TokenizerTraining::schema(), LengthLimits::schema(), special});
  }

  TextPairs(const tenon::Params& params, std::string_view fitted)
      : TextPairs(params, fitted,
                  text::TextTable(params.path("path"), text::TableFormat(params), column_names(params))) {}

  TextPairs(const tenon::Params& params, std::string_view fitted, const text::TextTable& table)
      : pairs_(LengthLimits(params)),
        model_(choose_model(params, fitted, table)),
        tokenizer_(*model_, params.path("tokenizer").empty() ? "the trained tokenizer" : params.path("tokenizer")) {
    const std::string path = params.path("path");
    const text::SpecialIds tokenizer_ids = tokenizer_.special_ids();
    const int64_t vocabulary_size = tokenizer_.vocabulary_size();
    pad_ = text::special_id(params, "pad_id", tokenizer_ids.pad, vocabulary_size);
    begin_ = text::special_id(params, "bos_id", tokenizer_ids.begin, vocabulary_size);
    end_ = text::special_id(params, "eos_id", tokenizer_ids.end, vocabulary_size);
    const datasets::Split part(params);
    for (size_t row = 0; row < table.rows(); ++row) {
      if (part.has(table.text(row, 0)))
        pairs_.append(table.text(row, 0), table.text(row, 1), tokenizer_, end_, table.place(row));
    }
    const std::string split = params.text("split");
    if (pairs_.size() == 0) {
      throw tenon::DataError(path + ": none of its pairs is in the split \"" + split +
                             "\" and short enough; change validation_fraction or the length limits, or add pairs");
    }
    log_summary(path, split, vocabulary_size, params.text("too_long"));
    warn_about_unknown(path, tokenizer_ids.unknown);
    if (pairs_.too_long() * 2 > pairs_.read()) {
      tenon::log_warning(
          path + ": " + std::to_string(pairs_.too_long()) + " of its " + std::to_string(pairs_.read()) +
          " pairs are longer than max_source_tokens = " + std::to_string(params.integer("max_source_tokens")) +
          " or max_target_tokens = " + std::to_string(params.integer("max_target_tokens")) + ", and are " +
          (params.text("too_long") == "truncate" ? "cut off" : "left out") +
          "; raise the limits, or use a larger vocabulary, which makes fewer tokens");
    }
  }

  std::vector<tenon::Field> fields() const {
    const auto pad = static_cast<double>(pad_);
    return {{"source", TENON_INT64, {-1}, "tokens to read, then EOS", pad},
            {"target_in", TENON_INT64, {-1}, "BOS, then the tokens to write: the decoder's input at each step", pad},
            {"target", TENON_INT64, {-1}, "the tokens to write, then EOS", kIgnored}};
  }

  int64_t size() const { return static_cast<int64_t>(pairs_.size()); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const auto pair = static_cast<size_t>(sample.index);
    const std::span<const int32_t> source = pairs_.source(pair);
    const std::span<const int32_t> target = pairs_.target(pair);
    const std::vector<int64_t> written = {static_cast<int64_t>(target.size())};
    std::copy(source.begin(), source.end(), sink.slot<int64_t>(0, {static_cast<int64_t>(source.size())}));
    int64_t* const shifted = sink.slot<int64_t>(1, written);
    shifted[0] = begin_;
    std::copy(target.begin(), target.end() - 1, shifted + 1);
    std::copy(target.begin(), target.end(), sink.slot<int64_t>(2, written));
  }

  // The length of a sample is the larger of source and target, including EOS.
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> lengths;
    for (size_t pair = 0; pair < pairs_.size(); ++pair) {
      lengths.push_back(static_cast<int64_t>(std::max(pairs_.source(pair).size(), pairs_.target(pair).size())));
    }
    return lengths;
  }

  tenon::TokenizerInfo tokenizer() const {
    return {{"source", "target_in", "target"}, tokenizer_.vocabulary_size(), begin_, end_, pad_};
  }

  std::vector<int64_t> encode(std::string_view text) const {
    std::vector<int32_t> tokens;
    tokenizer_.append_ids(text, tokens);
    return {tokens.begin(), tokens.end()};
  }

  std::string decode(const std::vector<int64_t>& tokens) const { return tokenizer_.decode(tokens); }

  std::string fitted_data() const { return text::FittedVocabulary{"pieces", *model_}.print(); }

  uint64_t fingerprint() const { return pairs_.hash(); }

 private:
  static std::shared_ptr<const std::string> choose_model(const tenon::Params& params, std::string_view fitted,
                                                         const text::TextTable& table) {
    const std::string of_training = fitted.empty() ? "" : text::FittedVocabulary::parse(fitted).bytes;
    return text::choose_vocabulary(params, of_training, params.path("path"), [&](const std::string& file) {
      const auto training = text::TokenizerTraining::read(params);
      if (file == params.path("path")) return text::train_tokenizer(table.texts(), training, file);
      const text::TextTable other(file, text::TableFormat(params), column_names(params));
      return text::train_tokenizer(other.texts(), training, file);
    });
  }

  void log_summary(const std::string& path, const std::string& split, int64_t vocabulary_size,
                   const std::string& too_long) const {
    std::string line = path + ": " + std::to_string(pairs_.size()) + " pairs (split " + split + "), a vocabulary of " +
                       std::to_string(vocabulary_size) + " tokens";
    if (pairs_.too_long() > 0) {
      line += ", " + std::to_string(pairs_.too_long()) + " too long and " +
              (too_long == "truncate" ? "cut off" : "left out");
    }
    tenon::log_info(line);
  }

  void warn_about_unknown(const std::string& path, int64_t unknown) const {
    for (const bool is_source : {true, false}) {
      size_t count = 0, found = 0;
      for (size_t pair = 0; pair < pairs_.size(); ++pair) {
        const std::span<const int32_t> side = is_source ? pairs_.source(pair) : pairs_.target(pair);
        count += side.size();
        found += static_cast<size_t>(std::count(side.begin(), side.end(), unknown));
      }
      text::warn_about_unknown(found, count, path + (is_source ? ": sources" : ": targets"));
    }
  }

  TokenPairs pairs_;
  int32_t pad_ = 0;
  int32_t begin_ = 0;
  int32_t end_ = 0;
  std::shared_ptr<const std::string> model_;  // shared with the validation dataset
  text::Tokenizer tokenizer_;
};

}  // namespace

}  // namespace text_pairs

TENON_PLUGIN("text_pairs", "0.1.0", "Apache-2.0", "Pairs of texts as tokens.",
             tenon::draft::fitted_dataset<text_pairs::TextPairs>(
                 "text_pairs", "pairs of texts from a table, tokenized by SentencePiece"))
