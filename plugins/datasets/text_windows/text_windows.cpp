// A text in windows of tokens, for language models, which predict the next token.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/draft/fitted_data.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/content_hash.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/text_windows/text_tokens.h"
#include "plugins/text/tokenizer.h"

namespace text_windows {
namespace {

constexpr int64_t kIgnored = -100;  // default ignore_index of losses and metrics

// Returns the range of tokens in `split`. The validation part is at the end.
std::pair<size_t, size_t> find_part(size_t count, const tenon::Params& params) {
  const std::string split = params.text("split");
  if (split == "all") return {0, count};
  const double share = params.number("validation_fraction");
  const auto end = static_cast<size_t>(std::llround(static_cast<double>(count) * (1 - share)));
  return split == "train" ? std::pair{size_t{0}, end} : std::pair{end, count};
}

class TextWindows {
 public:
  static std::vector<tenon::Param> schema() {
    const std::vector<tenon::Param> of_windows = {
        tenon::required<tenon::Path>("path").doc(
            "text file, or a pattern such as texts/*.txt; matching files are concatenated in the order of their names"),
        tenon::param("context", 128).range("[1, 1e9]").doc("number of tokens in a window"),
        tenon::param("stride", 0)
            .range("[0, 1e9]")
            .doc("number of tokens between the beginnings of consecutive windows, at most context; 0: context, so each "
                 "token is a target once"),
        tenon::param("split", "all")
            .choices({"all", "train", "validation"})
            .doc("tokens to use: all, or one of two parts"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("fraction of the tokens in the validation split, at the end of the text; the train split has the "
                 "rest")};
    return datasets::join_params({of_windows, TextTokens::schema()});
  }

  TextWindows(const tenon::Params& params, std::string_view fitted)
      : context_(static_cast<size_t>(params.integer("context"))),
        stride_(static_cast<size_t>(params.integer("stride"))) {
    if (stride_ == 0) stride_ = context_;
    if (stride_ > context_) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "stride = " + std::to_string(stride_) +
                                                     " with context = " + std::to_string(context_) +
                                                     "; expected at most context; a larger stride would skip tokens");
    }
    const std::string path = params.path("path");
    const TextTokens text(read_text(path), params, path, fitted);
    const auto [begin, end] = find_part(text.ids.size(), params);
    if (end - begin < 2) {
      throw tenon::DataError(path + ": " + std::to_string(end - begin) + " of its " + std::to_string(text.ids.size()) +
                             " tokens are in the split \"" + params.text("split") +
                             "\"; expected at least 2; change validation_fraction, or give a longer text");
    }
    ids_.assign(text.ids.begin() + static_cast<std::ptrdiff_t>(begin),
                text.ids.begin() + static_cast<std::ptrdiff_t>(end));
    encoding_ = text.encoding;
    kind_ = text.kind;
    vocabulary_ = text.vocabulary;
    tenon::log_info(path + ": " + std::to_string(ids_.size()) + " tokens (split " + params.text("split") + ") in " +
                    std::to_string(size()) + " windows, a vocabulary of " +
                    std::to_string(encoding_->vocabulary_size()) + " tokens");
  }

  std::vector<tenon::Field> fields() const {
    const auto length = static_cast<int64_t>(context_);
    return {{"tokens", TENON_INT64, {length}, "a window of the text; 0 after the end of the text"},
            {"target", TENON_INT64, {length}, "the token after each token of tokens; -100 after the end of the text"}};
  }

  // Enough windows for every token except the first to be a target.
  int64_t size() const {
    const size_t targets = ids_.size() - 1;
    return static_cast<int64_t>(targets <= context_ ? 1 : 1 + (targets - context_ + stride_ - 1) / stride_);
  }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(sample.index) * stride_);
    const auto count = std::min(static_cast<std::ptrdiff_t>(context_), ids_.end() - first - 1);
    const auto put = [&](uint64_t field, auto from, int64_t filling) {
      int64_t* const slot = sink.slot<int64_t>(field);
      std::fill(std::copy(from, from + count, slot), slot + context_, filling);
    };
    put(0, first, 0);
    put(1, first + 1, kIgnored);
  }

  tenon::TokenizerInfo tokenizer() const {
    const text::SpecialIds special = encoding_->special_ids();
    return {{"tokens", "target"}, encoding_->vocabulary_size(), special.begin, special.end, special.pad};
  }

  std::vector<int64_t> encode(std::string_view text) const {
    std::vector<int32_t> tokens;
    encoding_->append_tokens(kind_ == "bytes" ? std::string(text) : unify(text), tokens);
    return {tokens.begin(), tokens.end()};
  }

  std::string decode(const std::vector<int64_t>& tokens) const { return encoding_->decode(tokens); }

  std::string fitted_data() const {
    return text::FittedVocabulary{kind_, vocabulary_ ? *vocabulary_ : std::string()}.print();
  }

  uint64_t fingerprint() const {
    return formats::hash_elements(ids_, formats::hash_text(std::to_string(context_) + ' ' + std::to_string(stride_)));
  }

 private:
  size_t context_;
  size_t stride_;
  std::vector<int32_t> ids_;
  std::shared_ptr<const TextEncoding> encoding_;
  std::string kind_;
  std::shared_ptr<const std::string> vocabulary_;  // shared with the validation dataset
};

}  // namespace
}  // namespace text_windows

TENON_PLUGIN("text_windows", "0.1.0", "Apache-2.0", "A text divided into windows of tokens.",
             tenon::draft::fitted_dataset<text_windows::TextWindows>(
                 "text_windows",
                 "windows of a text as bytes, characters or SentencePiece pieces, with the next tokens as targets"))
