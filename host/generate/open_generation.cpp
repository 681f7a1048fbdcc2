#include "host/generate/open_generation.h"

#include <tenon/tokenizer.h>

#include <algorithm>
#include <cstdio>

#include "framework/components/kinds/dataset.h"
#include "framework/pipeline/build/connections.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"
#include "host/training/use_weights.h"

namespace tenon::host {

using support::Error;
using support::ErrorKind;

namespace {

config::NamedDataset choose_tokens(const OpenedRunFile& run, const std::string& name,
                                   const artifacts::FoundWeights& weights) {
  const config::NamedDataset& dataset = find_dataset_or_first(run.plan, name);
  report_unknown_fitted_data(weights.file, dataset, run.catalogue);
  return dataset;
}

// Builds only the model: the dataset is needed for its tokenizer alone.
pipeline::Evaluation build_generation(OpenedRunFile& run) {
  run.plan.losses.clear();
  run.plan.metrics.clear();
  run.plan.data.validation.clear();
  run.plan.data.test.clear();
  return pipeline::build_evaluation(run.plan, run.catalogue, run.device.device);
}

}  // namespace

Generation::Generation(const RunFile& file, const std::string& checkpoint, const std::string& dataset)
    : run_(open_run_file(file, Computes::yes)),
      weights_(use_weights(checkpoint, run_.plan)),
      dataset_plan_(choose_tokens(run_, dataset, weights_)),
      parts_(build_generation(run_)),
      ports_(pipeline::find_token_ports(parts_.model, run_.plan.model.place)),
      dataset_(open_dataset(run_.catalogue, dataset_plan_)) {
  check_tokenizer();
  if (ports_.decoding.cache_count == 0)
    support::log_warning("{} has no extension {}, so each new token costs as much as all tokens before it",
                         parts_.model.component().describe(), TENON_DECODING);
  ports_.tokenizer_size = tokenizer().vocabulary_size();
}

void Generation::check_tokenizer() const {
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::configuration, dataset_plan_.place + ": " + dataset_.component().describe() + " " + reason);
  };
  if (!dataset_.tokenizer())
    refuse(std::string("has no tokenizer; expected a dataset of texts, such as text_windows or text_pairs, or one with "
                       "the extension ") +
           TENON_TOKENIZER);
  const pipeline::Wiring wiring =
      pipeline::connect_model(parts_.model, run_.plan.model, dataset_.name(), dataset_.fields());
  for (const size_t input : {ports_.decoding.tokens, ports_.source.value_or(ports_.decoding.tokens)}) {
    const std::string& field = dataset_.fields()[wiring.sources()[input].index].name;
    if (!tokenizer().holds_tokens(field))
      refuse("has the field " + field + " for the model's input " + parts_.model.inputs()[input].name +
             ", which its tokenizer does not have; expected a field of tokens");
  }
  if (ports_.source && tokenizer().begin() < 0)
    refuse(
        "has a tokenizer without a token for the beginning of a text (BOS), with which the model starts; set bos_id");
}

Generation::Start Generation::read(const std::string& text, const std::string& place) const {
  std::vector<int64_t> tokens;
  try {
    tokens = tokenizer().encode(text);
  } catch (const Error& error) {
    throw Error(error.kind(), place + ": " + error.what());
  }
  if (tokens.empty())
    throw Error(ErrorKind::configuration, place + ": the prompt has no tokens; expected a text to continue");
  const components::Decoding& decoding = ports_.decoding;
  const auto outside = std::ranges::find_if(
      tokens, [&](int64_t token) { return decoding.vocabulary > 0 && token >= decoding.vocabulary; });
  if (outside != tokens.end())
    throw Error(ErrorKind::data,
                "{}: the prompt has the token {}, \"{}\"; expected tokens below {}, the model's vocabulary; use the "
                "data with which the weights were trained",
                place, *outside, tokenizer().decode({&*outside, 1}), decoding.vocabulary);
  if (ports_.source) {
    if (tokenizer().end() >= 0) tokens.push_back(tokenizer().end());
    return {tokens, {tokenizer().begin()}};
  }
  if (decoding.context > 0 && std::ssize(tokens) > decoding.context)
    throw Error(ErrorKind::configuration,
                "{}: the prompt has {}; expected at most {}, the context of the model; shorten the prompt", place,
                support::format_count(std::ssize(tokens), "token"), decoding.context);
  return {{}, tokens};
}

pipeline::ContinuedSequences Generation::begin(const Start& start) {
  return {parts_, ports_, {false, weights_.step, weights_.epoch, 0, 1, run_.plan.run.seed}, start.source, start.prompt};
}

std::string Generation::decode(const Start& start, const std::vector<int64_t>& new_tokens) const {
  if (ports_.source) return tokenizer().decode(new_tokens);
  std::vector<int64_t> all = start.prompt;
  all.insert(all.end(), new_tokens.begin(), new_tokens.end());
  return tokenizer().decode(all);
}

size_t count_complete(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  size_t size = text.size();
  for (int i = 0; i < 3 && text.substr(0, size).ends_with(kReplacement); ++i) size -= kReplacement.size();
  return size;
}

void TextStream::show(std::string_view text) {
  const size_t end = count_complete(text);
  if (end <= written_) return;
  reporting::write_output_text(text.substr(written_, end - written_));
  std::fflush(stdout);
  written_ = end;
}

void TextStream::finish(std::string_view text) {
  reporting::write_output_text(std::string(text.substr(std::min(written_, text.size()))) + "\n");
  written_ = text.size();
}

}  // namespace tenon::host
