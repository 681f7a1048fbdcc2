// `host generate`: continues texts with trained weights.
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"
#include "host/generate/generation_options.h"
#include "host/generate/open_generation.h"
#include "host/generate/text_stream.h"
#include "host/process/signals.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;
using pipeline::GeneratedSequence;

const char* name_of(pipeline::EndOfSequence end) {
  switch (end) {
    case pipeline::EndOfSequence::end_token: return "end_token";
    case pipeline::EndOfSequence::length: return "length";
    case pipeline::EndOfSequence::stopped: return "stopped";
  }
  return "";
}

// Generates the texts of a prompt. `show`: receives the new tokens of the first text so far.
std::vector<GeneratedSequence> generate_texts(Generation& generation, const GenerationMethod& method,
                                              const Generation::Start& start, int64_t number,
                                              const std::function<void(const std::vector<int64_t>&)>& show) {
  const pipeline::GenerationLimits limits = {method.max_new_tokens, generation.end_token()};
  pipeline::ContinuedSequences sequences = generation.begin(start);
  std::vector<int64_t> shown;
  show(shown);
  const pipeline::AfterToken after_token = [&](std::optional<int64_t> token) {
    if (token) {
      shown.push_back(*token);
      show(shown);
    }
    return stop_signal() == 0;
  };
  if (method.beams) {
    std::vector<GeneratedSequence> beams =
        search_beams(std::move(sequences), limits, *method.beams, [] { return stop_signal() == 0; });
    if (std::ssize(beams) > method.samples) beams.resize(static_cast<size_t>(method.samples));
    return beams;
  }
  if (!method.sampling) return {generate_greedily(std::move(sequences), limits, after_token)};
  return sample_sequences(std::move(sequences), limits, *method.sampling,
                          method.seed.value_or(generation.plan().run.seed), number, method.samples, after_token);
}

Json to_json(const GeneratedSequence& sequence, const std::string& text) {
  return {{"text", text},
          {"tokens", sequence.tokens},
          {"log_probability", sequence.log_probability},
          {"score", sequence.score},
          {"end", name_of(sequence.end)}};
}

// Writes the texts of a prompt. Returns them for --json.
Json write_texts(Generation& generation, const GenerationMethod& method, const Generation::Start& start, int64_t number,
                 bool is_json, bool has_headings) {
  TextStream stream;
  if (!is_json && has_headings && method.samples == 1)
    reporting::write_output("[%lld]\n", static_cast<long long>(number) + 1);
  const bool streams = !is_json && !method.beams && method.samples == 1;
  const std::vector<GeneratedSequence> sequences =
      generate_texts(generation, method, start, number, [&](const std::vector<int64_t>& tokens) {
        if (streams) stream.show(generation.decode(start, tokens));
      });
  Json texts = Json::array();
  for (size_t i = 0; i < sequences.size(); ++i) {
    const std::string text = generation.decode(start, sequences[i].tokens);
    if (is_json) {
      texts.push_back(to_json(sequences[i], text));
      continue;
    }
    if (method.samples > 1) reporting::write_output("[%lld.%zu]\n", static_cast<long long>(number) + 1, i + 1);
    stream.finish(text);
    stream = {};
  }
  return texts;
}

int generate(const Arguments& arguments) {
  const GenerationMethod method = read_generation_method(arguments);
  const std::vector<Prompt> prompts = read_prompts(arguments);
  Generation generation(arguments.run_file(), arguments.text("checkpoint"), arguments.text("data"));
  std::vector<Generation::Start> starts;
  for (const Prompt& prompt : prompts) starts.push_back(generation.read(prompt.text, prompt.place));
  catch_stop_signals();
  Json all = {{"weights", generation.weights().file.string()}, {"prompts", Json::array()}};
  for (size_t i = 0; i < prompts.size() && stop_signal() == 0; ++i) {
    const Json texts =
        write_texts(generation, method, starts[i], static_cast<int64_t>(i), arguments.wants_json(), prompts.size() > 1);
    all["prompts"].push_back({{"prompt", prompts[i].text}, {"texts", texts}});
  }
  if (arguments.wants_json()) reporting::write_output_json(all);
  return stop_signal() == 0 ? 0 : 128 + stop_signal();
}

}  // namespace

extern const Command generate_command{
    .name = "generate",
    .arguments = "",
    .needed = "--config FILE",
    .purpose = "continue texts with trained weights",
    .details =
        "Continues a text with a language model, or writes the target of a source with a sequence-to-sequence model: "
        "greedily, by sampling or by beam search.",
    .page = "guides/generate.md",
    .make_options = make_generate_options,
    .run = generate,
    .is_for_one_process = true};

}  // namespace tenon::host
