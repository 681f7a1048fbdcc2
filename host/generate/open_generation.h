// The start of `host generate`: the run file, trained weights, the model and the tokenizer of a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/components/kinds/dataset.h"
#include "framework/pipeline/build/evaluation.h"
#include "framework/pipeline/generation/continued_sequences.h"
#include "host/command_line/command.h"
#include "host/training/open_run.h"

namespace tenon::host {

// A model that continues texts. Not movable: the parts point to each other.
class Generation {
 public:
  // `dataset`: that of --data; empty: the first validation data, or the training data if there is none. It is created
  // for its tokenizer; no sample is read. Throws Error as open_run_file, find_weights, build_evaluation and
  // find_token_ports do, and Error(configuration) for a dataset without a tokenizer of the model's inputs.
  Generation(const RunFile& file, const std::string& checkpoint, const std::string& dataset);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  const config::RunPlan& plan() const { return run_.plan; }
  const artifacts::FoundWeights& weights() const { return weights_; }
  int64_t end_token() const { return tokenizer().end(); }

  // A text as the model reads it.
  struct Start {
    std::vector<int64_t> source;  // empty for a language model
    std::vector<int64_t> prompt;  // the tokens that are continued
  };

  // Reads a text to continue, or the source of a sequence-to-sequence model, which ends with the end token. `place`:
  // for messages. Throws Error(configuration) for a text without tokens or with too many, and Error(data) for one that
  // the vocabulary does not have.
  Start read(const std::string& text, const std::string& place) const;

  pipeline::ContinuedSequences begin(const Start& start);

  // The text of new tokens, after that of the prompt for a language model.
  std::string decode(const Start& start, const std::vector<int64_t>& new_tokens) const;

 private:
  const components::Tokenizer& tokenizer() const { return *dataset_.tokenizer(); }
  void check_tokenizer() const;

  OpenedRunFile run_;
  artifacts::FoundWeights weights_;
  config::NamedDataset dataset_plan_;
  pipeline::Evaluation parts_;
  pipeline::TokenPorts ports_;
  components::Dataset dataset_;
};

// The number of bytes that do not change when tokens are added: the text without U+FFFD at its end, at most three,
// which may be the beginning of a UTF-8 character.
size_t count_complete(std::string_view text);

// Writes a text to standard output while it is generated.
class TextStream {
 public:
  // `text`: the whole text so far. Writes its complete characters.
  void show(std::string_view text);
  // Writes what is missing of the whole text, and a line feed.
  void finish(std::string_view text);

 private:
  size_t written_ = 0;
};

}  // namespace tenon::host
