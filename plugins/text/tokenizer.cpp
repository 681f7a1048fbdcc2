#include "plugins/text/tokenizer.h"

#include <sentencepiece_processor.h>
#include <climits>
#include <exception>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/warn.h"
#include "plugins/regular_file.h"
#include "plugins/text/check_tokenizer_model.h"

namespace text {

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

void warn_about_unknown(size_t unknown, size_t tokens, const std::string& place) {
  // In words of unknown letters, which are one token, the space before the word and EOS are known.
  if (unknown * 3 < tokens || unknown == 0) return;
  datasets::warn(place + ": " + std::to_string(unknown) + " of its " + std::to_string(tokens) +
                 " tokens are unknown: the tokenizer was trained on a text with other characters; expected texts of "
                 "the same language and writing, or a tokenizer_text with all characters");
}

std::string read_tokenizer_file(const std::string& path) {
  // Protocol Buffers count the bytes of a message with an int.
  return components::read_whole(path, "a SentencePiece model", INT_MAX);
}

}  // namespace text
