// Pairs of texts as tokens, for sequence-to-sequence models: translation, transliteration, normalisation.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/draft/fitted_data.hpp>
#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/validation_part.h"
#include "plugins/datasets/text_pairs/token_pairs.h"
#include "plugins/text/fitted_vocabulary.h"
#include "plugins/text/text_table.h"
#include "plugins/text/tokenizer.h"
#include "plugins/text/train_tokenizer.h"

namespace text_pairs {
namespace {

constexpr int64_t kIgnored = -100;  // default ignore_index of losses and metrics

std::vector<std::string> column_names(const tenon::Params& params) {
  return {params.text("source"), params.text("target")};
}

// Returns a special id: the parameter, or the tokenizer's id if the parameter is -1.
int32_t special_id(const tenon::Params& params, const char* parameter, int64_t of_tokenizer, int64_t vocabulary_size) {
  const int64_t given = params.integer(parameter);
  const int64_t id = given == -1 ? of_tokenizer : given;
  if (id >= 0 && id < vocabulary_size) return static_cast<int32_t>(id);
  throw tenon::Error(TENON_INVALID_ARGUMENT,
                     std::string(parameter) + " = " + std::to_string(given) + ": " +
                         (given == -1 ? "the tokenizer has no such piece" : "is not a piece of the tokenizer") +
                         "; expected an id below its vocabulary size, " + std::to_string(vocabulary_size));
}

class TextPairs {
 public:
  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = {
        tenon::required<tenon::Path>("path").doc("table in UTF-8 with one pair of texts per row"),
        tenon::param("source", "source")
            .doc("column that the model reads; for json_lines a name, or a JSON pointer such as /translation/en"),
        tenon::param("target", "target").doc("column that the model learns to write"),
        tenon::param("split", "all")
            .choices({"all", "train", "validation"})
            .doc("pairs to use: all, or one of two parts, split by the source texts"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("fraction of the pairs in the validation split; the train split has the rest"),
    };
    const std::vector<tenon::Param> special = {
        tenon::param("pad_id", -1).range("[-1, 1e9]").doc("id for padding; -1: the tokenizer's padding id"),
        tenon::param("bos_id", -1).range("[-1, 1e9]").doc("first id of target_in; -1: the tokenizer's BOS"),
        tenon::param("eos_id", -1).range("[-1, 1e9]").doc("last id of source and target; -1: the tokenizer's EOS")};
    for (const std::vector<tenon::Param>& more :
         {text::tokenizer_schema("of both texts",
                                 "table with the same columns for training a tokenizer, from the rows of all splits",
                                 "path of the training data"),
          text::TableFormat::schema(), text::TokenizerTraining::schema(), LengthLimits::schema(), special}) {
      params.insert(params.end(), more.begin(), more.end());
    }
    return params;
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
    pad_ = special_id(params, "pad_id", tokenizer_ids.pad, vocabulary_size);
    begin_ = special_id(params, "bos_id", tokenizer_ids.begin, vocabulary_size);
    end_ = special_id(params, "eos_id", tokenizer_ids.end, vocabulary_size);
    const std::string split = params.text("split");
    const double fraction = params.number("validation_fraction");
    for (size_t row = 0; row < table.rows(); ++row) {
      const bool is_validation = datasets::is_validation_name(table.text(row, 0), fraction);
      if (split != "all" && is_validation != (split == "validation")) continue;
      pairs_.append(table.text(row, 0), table.text(row, 1), tokenizer_, end_, table.place(row));
    }
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
    return text::choose_vocabulary(params, of_training, params.path("path"), text::read_tokenizer_file,
                                   [&](const std::string& file) {
                                     const auto training = text::TokenizerTraining::read(params);
                                     if (file == params.path("path"))
                                       return text::train_tokenizer(table.texts(), training, file);
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
    tenon::detail::host->log(TENON_LOG_INFO, tenon::detail::borrow(line));
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
