#include "plugins/text/tokenizer.h"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>
#include <unordered_map>

#include <tenon/error.hpp>
#include <tenon/log.hpp>

#include "framework/formats/content_hash.h"

namespace text {
namespace {

// The trainer leaves longer texts out.
constexpr size_t kMaxTextBytes = 65536;

// Returns where to end a part of the text that begins at `begin` and is not too long: at its end, after a blank, or
// before a character.
size_t find_part_end(const std::string& text, size_t begin) {
  if (text.size() - begin <= kMaxTextBytes) return text.size();
  const size_t limit = begin + kMaxTextBytes;
  const size_t blank = text.find_last_of(" \t\n", limit - 1);
  if (blank != std::string::npos && blank > begin) return blank + 1;
  size_t end = limit;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return end;
}

// Passes texts to the trainer, which reads them one by one. Long texts are passed in parts.
class TextIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit TextIterator(const std::vector<std::string>& texts) : texts_(texts) { take_part(); }
  bool done() const override { return at_ == texts_.size(); }
  void Next() override {
    if (end_ == texts_[at_].size()) {
      ++at_;
      end_ = 0;
    }
    take_part();
  }
  const std::string& value() const override { return part_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void take_part() {
    if (done()) return;
    const size_t begin = end_;
    end_ = find_part_end(texts_[at_], begin);
    part_.assign(texts_[at_], begin, end_ - begin);
  }

  const std::vector<std::string>& texts_;
  size_t at_ = 0;
  size_t end_ = 0;  // of the part in its text
  std::string part_;
};

// The trainer leaves out texts with the character that it uses for unknown ones.
void report_left_out(const std::vector<std::string>& texts, const std::string& place) {
  const auto has_reserved = [](const std::string& text) { return text.find("\xE2\x96\x85") != std::string::npos; };
  const auto count = std::count_if(texts.begin(), texts.end(), has_reserved);
  if (count == 0) return;
  const auto first = std::find_if(texts.begin(), texts.end(), has_reserved);
  tenon::log_warning(place + ": " + std::to_string(count) + " of its " + std::to_string(texts.size()) +
                     " texts have the character U+2585, which SentencePiece reserves, so the tokenizer is trained "
                     "without them; the first is text " +
                     std::to_string(first - texts.begin() + 1) + "; expected texts without it: replace the character");
}

uint64_t count_bytes(const std::vector<std::string>& texts) {
  uint64_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

std::string train(const std::vector<std::string>& texts, const TokenizerTraining& training, const std::string& place) {
  // The suffix array of the unigram trainer counts characters with 32 bits, and the trainer aborts the process on
  // overflow.
  constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  if (const uint64_t bytes = count_bytes(texts); bytes > kMaxBytes) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, place + ": has " + std::to_string(bytes >> 20) +
                                                   " MiB of text; expected at most 1024 to train a tokenizer; set "
                                                   "tokenizer_text to a smaller file, or tokenizer to a trained model");
  }
  const std::unordered_map<std::string, std::string> options = {
      {"model_type", training.model_type},
      {"vocab_size", std::to_string(training.vocabulary_size)},
      {"hard_vocab_limit", "false"},
      {"character_coverage", std::to_string(training.character_coverage)},
      {"pad_id", "0"},
      {"unk_id", "1"},
      {"bos_id", "2"},
      {"eos_id", "3"},
      {"max_sentence_length", std::to_string(kMaxTextBytes)},
      // The order in which threads add floats depends on their number, which would change the tokenizer.
      {"num_threads", "1"},
      {"minloglevel", "2"},
  };
  report_left_out(texts, place);
  TextIterator iterator(texts);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &iterator, &model);
  if (!status.ok()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, place + ": cannot train a tokenizer from its " +
                                                   std::to_string(texts.size()) + " texts with vocabulary_size = " +
                                                   std::to_string(training.vocabulary_size) + ": " + status.ToString());
  }
  return model;
}

}  // namespace

std::vector<tenon::Param> TokenizerTraining::schema() {
  return {tenon::param("vocabulary_size", 8000)
              .range("[8, 1000000]")
              .doc("vocabulary size of a trained tokenizer, including the four special tokens; smaller if the texts "
                   "have fewer pieces"),
          tenon::param("model_type", "unigram")
              .choices({"unigram", "bpe", "char"})
              .doc("algorithm of a trained tokenizer: unigram language model, byte-pair encoding, or characters"),
          tenon::param("character_coverage", 0.9995)
              .range("[0.98, 1]")
              .doc("fraction of the characters in the texts that a trained tokenizer covers; the rarest characters "
                   "become unknown")};
}

TokenizerTraining TokenizerTraining::read(const tenon::Params& params) {
  return {params.integer("vocabulary_size"), params.text("model_type"), params.number("character_coverage")};
}

std::shared_ptr<const std::string> train_tokenizer(const std::vector<std::string>& texts,
                                                   const TokenizerTraining& training, const std::string& place) {
  uint64_t hash = formats::hash_text("");
  for (const std::string& text : texts) hash = formats::hash_text(text, formats::hash_text("\n", hash));
  // The training and validation datasets are created one after the other and need the same tokenizer.
  static std::mutex mutex;
  static std::map<std::tuple<uint64_t, size_t, uint64_t, int64_t, std::string, double>,
                  std::weak_ptr<const std::string>>
      models;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const std::string>& known = models[{hash, texts.size(), count_bytes(texts), training.vocabulary_size,
                                                    training.model_type, training.character_coverage}];
  std::shared_ptr<const std::string> model = known.lock();
  if (!model) known = model = std::make_shared<const std::string>(train(texts, training, place));
  return model;
}

FittedVocabulary FittedVocabulary::parse(std::string_view printed) {
  const size_t line = printed.find('\n');
  const std::string kind(printed.substr(0, line));
  if (line == std::string_view::npos || (kind != "bytes" && kind != "characters" && kind != "pieces"))
    throw tenon::DataError("the saved vocabulary begins with \"" + kind.substr(0, 20) +
                           "\"; expected bytes, characters or pieces: it was written by another version of the plugin");
  return {kind, std::string(printed.substr(line + 1))};
}

std::vector<tenon::Param> tokenizer_schema(const std::string& what, const std::string& tokenizer_text,
                                           const std::string& without_both) {
  return {tenon::param("tokenizer", tenon::Path())
              .doc("SentencePiece model " + what + "; empty: one is trained, the same for every dataset of the run"),
          tenon::param("tokenizer_text", tenon::Path()).doc(tokenizer_text + "; empty: " + without_both)};
}

std::shared_ptr<const std::string> choose_vocabulary(
    const tenon::Params& params, std::string_view fitted, const std::string& path,
    const std::function<std::shared_ptr<const std::string>(const std::string& file)>& make) {
  const std::string model = params.path("tokenizer"), text = params.path("tokenizer_text");
  if (!model.empty() && !text.empty())
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "tokenizer and tokenizer_text are both set; expected one of them: "
                       "remove tokenizer_text to use the model " +
                           model);
  const std::string& named = model.empty() ? text : model;
  const auto from_named = [&] {
    return model.empty() ? make(text) : std::make_shared<const std::string>(read_tokenizer_file(model));
  };
  if (fitted.empty()) return named.empty() ? make(path) : from_named();
  // Later commands may run where only the weights are.
  std::error_code ignored;
  const bool is_missing = named.find_first_of("*?[") == std::string::npos && !std::filesystem::exists(named, ignored);
  if (!named.empty() && !is_missing && *from_named() != fitted)
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       std::string(model.empty() ? "tokenizer_text" : "tokenizer") + " = " + named +
                           ": is another vocabulary than that of the training data; expected the same tokens: remove "
                           "the parameter, or train with it");
  return std::make_shared<const std::string>(fitted);
}

}  // namespace text
