#include "plugins/text/train_tokenizer.h"

#include <sentencepiece_trainer.h>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "plugins/hash_text.h"

namespace text {
namespace {

// Passes texts to the trainer, which reads them one by one.
class TextIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit TextIterator(const std::vector<std::string>& texts) : texts_(texts) {}
  bool done() const override { return at_ == texts_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return texts_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& texts_;
  size_t at_ = 0;
};

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
      {"max_sentence_length", "65536"},
      // The order in which threads add floats depends on their number, which would change the tokenizer.
      {"num_threads", "1"},
      {"minloglevel", "2"},
  };
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
  uint64_t hash = plugins::hash_text("");
  for (const std::string& text : texts) hash = plugins::hash_text(text, plugins::hash_text("\n", hash));
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

}  // namespace text
