#include "host/generate/generation_options.h"

#include <cmath>
#include <iostream>
#include <sstream>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/read_file.h"

namespace tenon::host {

using support::Error;
using support::ErrorKind;

namespace {

// Refuses an option with a value that is not in its range.
double read_number(const Arguments& arguments, const std::string& option, double otherwise, bool is_in_range(double),
                   const char* expected) {
  if (!arguments.has(option)) return otherwise;
  const auto number = arguments.get<double>(option);
  if (is_in_range(number)) return number;
  std::ostringstream text;
  text << "--" << option << " is " << number;
  arguments.refuse(text.str(), expected);
}

}  // namespace

po::options_description make_generate_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("prompt", po::value<std::string>()->value_name("TEXT"),
      "text to continue; for a sequence-to-sequence model: the source");
  add("prompt-file", po::value<std::string>()->value_name("FILE"),
      "file with a prompt in each line; -: standard input");
  add("max-new-tokens", po::value<int64_t>()->value_name("N")->default_value(100), "maximum number of new tokens");
  add("temperature", po::value<double>()->value_name("T"),
      "sample, from scores divided by T; default: 1 with --top-k or --top-p, otherwise greedy decoding");
  add("top-k", po::value<int64_t>()->value_name("K"), "sample from the K likeliest tokens");
  add("top-p", po::value<double>()->value_name("P"),
      "sample from the likeliest tokens, as many as reach a total probability of P");
  add("seed", po::value<uint64_t>()->value_name("N"), "seed of sampling; default: run.seed");
  add("samples", po::value<int64_t>()->value_name("N"), "texts for each prompt; default: 1");
  add("beam", po::value<int64_t>()->value_name("N"), "beam search with N beams");
  add("length-penalty", po::value<double>()->value_name("X"),
      "divide log probabilities of a beam search by length ^ X; default: 1");
  add("data", po::value<std::string>()->value_name("NAME"),
      "dataset with the tokenizer: train, validation, test, validation/NAME or test/NAME; default: the first "
      "validation data");
  add_json_option(options);
  return options;
}

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
    arguments.refuse(
        "--samples is " + std::to_string(method.samples) + " with --beam " + std::to_string(method.beams->beams),
        "at most as many samples as beams");
  return method;
}

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

}  // namespace tenon::host
