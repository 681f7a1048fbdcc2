// `host generate`: continues texts with trained weights.
#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "framework/pipeline/generation/generate.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/read_file.h"
#include "host/command_line/command.h"
#include "host/generate/open_generation.h"
#include "host/process/signals.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;
using pipeline::GeneratedSequence;
using support::Error;
using support::ErrorKind;

// How sequences are generated: greedily if neither `sampling` nor `beams` is set, never both.
struct GenerationMethod {
  int64_t max_new_tokens;
  std::optional<pipeline::Sampling> sampling;
  std::optional<pipeline::BeamSearch> beams;
  std::optional<uint64_t> seed;  // of sampling
  int64_t samples = 1;           // sequences for each prompt
};

struct Prompt {
  std::string text;
  std::string place;  // for messages: "command line: --prompt", "prompts.txt:3"
};

// Refuses an option with a value that is not in its range.
double read_number(const Arguments& arguments, const std::string& option, double otherwise, bool is_in_range(double),
                   const char* expected) {
  if (!arguments.has(option)) return otherwise;
  const auto number = arguments.get<double>(option);
  if (is_in_range(number)) return number;
  arguments.refuse(fmt::format("--{} is {:g}", option, number), expected);
}

void add_generate_options(AddOption& add) {
  add_run_file_options(add);
  add_checkpoint_option(add);
  add("prompt", text_value("TEXT"), "text to continue; for a sequence-to-sequence model: the source");
  add("prompt-file", text_value("FILE"), "file with a prompt in each line; -: standard input");
  add("max-new-tokens", integer_value("N")->default_value(100), "maximum number of new tokens");
  add("temperature", number_value("T"),
      "sample, from scores divided by T; default: 1 with --top-k or --top-p, otherwise greedy decoding");
  add("top-k", integer_value("K"), "sample from the K likeliest tokens");
  add("top-p", number_value("P"), "sample from the likeliest tokens, as many as reach a total probability of P");
  add("seed", po::value<uint64_t>()->value_name("N"), "seed of sampling; default: run.seed");
  add("samples", integer_value("N"), "texts for each prompt; default: 1");
  add("beam", integer_value("N"), "beam search with N beams");
  add("length-penalty", number_value("X"), "divide log probabilities of a beam search by length ^ X; default: 1");
  add("data", text_value("NAME"),
      "dataset with the tokenizer: train, validation, test, validation/NAME or test/NAME; default: the first "
      "validation data");
  add_json_option(add);
}

// Refuses options that contradict each other or would be ignored.
GenerationMethod read_generation_method(const Arguments& arguments) {
  GenerationMethod method = {arguments.count("max-new-tokens", 1), {}, {}, {}, arguments.count("samples", 1, 1)};
  for (const char* option : {"temperature", "top-k", "top-p", "seed"}) {
    if (!arguments.has(option)) continue;
    if (arguments.has("beam"))
      arguments.refuse("--beam and --" + std::string(option) + " are both given", "either beam search or sampling");
    if (std::string(option) == "seed") {
      if (!method.sampling)
        arguments.refuse("--seed is given for greedy decoding, which draws no random numbers",
                         "--temperature, --top-k or --top-p with it");
      method.seed = arguments.get<uint64_t>("seed");
    } else {
      method.sampling.emplace();
    }
  }
  if (method.sampling) {
    method.sampling->temperature = read_number(
        arguments, "temperature", 1, [](double value) { return value > 0 && std::isfinite(value); },
        "a number above 0; greedy decoding has no --temperature");
    method.sampling->top_k = arguments.count("top-k", 1);
    method.sampling->top_p = read_number(
        arguments, "top-p", 1, [](double value) { return value > 0 && value <= 1; }, "a number in (0, 1]");
  }
  if (arguments.has("beam")) method.beams = pipeline::BeamSearch{arguments.count("beam", 1)};
  if (arguments.has("length-penalty")) {
    if (!method.beams) arguments.refuse("--length-penalty is given without --beam", "--beam N with it");
    method.beams->length_penalty = read_number(
        arguments, "length-penalty", 1, [](double value) { return std::isfinite(value); }, "a finite number");
  }
  if (method.samples > 1 && !method.sampling && !method.beams)
    arguments.refuse("--samples is " + std::to_string(method.samples) + ", and greedy decoding makes one text",
                     "--temperature, --top-k, --top-p or --beam with it");
  if (method.beams && method.samples > method.beams->beams)
    arguments.refuse(fmt::format("--samples is {} with --beam {}", method.samples, method.beams->beams),
                     "at most as many samples as beams");
  return method;
}

// Reads --prompt, or the lines of --prompt-file ("-": standard input), without their line feeds. Throws
// Error(configuration) if none or both are given or the file cannot be read, and Error(data) if it has no line or an
// empty one.
std::vector<Prompt> read_prompts(const Arguments& arguments) {
  if (arguments.has("prompt") == arguments.has("prompt-file"))
    arguments.refuse(arguments.has("prompt") ? "--prompt and --prompt-file are both given" : "there is no prompt",
                     "--prompt TEXT or --prompt-file FILE");
  if (arguments.has("prompt")) return {{arguments.text("prompt"), "command line: --prompt"}};
  const std::string file = arguments.text("prompt-file");
  std::istringstream stream;
  if (file == "-") {
    std::ostringstream all;
    all << std::cin.rdbuf();
    stream.str(all.str());
  } else {
    stream.str(support::read_file(file, {ErrorKind::configuration, "a file with a prompt in each line"}));
  }
  const std::string name = file == "-" ? "standard input" : file;
  std::vector<Prompt> prompts;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    prompts.push_back({line, name + ":" + std::to_string(prompts.size() + 1)});
  }
  if (prompts.empty()) throw Error(ErrorKind::data, name + ": is empty; expected a prompt in each line");
  return prompts;
}

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
    reporting::write_output("[{}]\n", static_cast<long long>(number) + 1);
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
    if (method.samples > 1) reporting::write_output("[{}.{}]\n", static_cast<long long>(number) + 1, i + 1);
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
    .needed = "--config FILE",
    .purpose = "continue texts with trained weights",
    .details =
        "Continues a text with a language model, or writes the target of a source with a sequence-to-sequence model: "
        "greedily, by sampling or by beam search.",
    .page = "guides/generate.md",
    .add_options = add_generate_options,
    .run = generate,
    .is_for_one_process = true};

}  // namespace tenon::host
