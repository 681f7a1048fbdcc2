// The options of `host generate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/pipeline/generation/generate.h"
#include "host/command_line/arguments.h"

namespace tenon::host {

po::options_description make_generate_options();

// How sequences are generated: greedily if neither `sampling` nor `beams` is set, never both.
struct GenerationMethod {
  int64_t max_new_tokens;
  std::optional<pipeline::Sampling> sampling;
  std::optional<pipeline::BeamSearch> beams;
  std::optional<uint64_t> seed;  // of sampling
  int64_t samples = 1;           // sequences for each prompt
};

// Refuses options that contradict each other or would be ignored.
GenerationMethod read_generation_method(const Arguments& arguments);

struct Prompt {
  std::string text;
  std::string place;  // for messages: "command line: --prompt", "prompts.txt:3"
};

// Reads --prompt, or the lines of --prompt-file ("-": standard input), without their line feeds. Throws
// Error(configuration) if none or both are given or the file cannot be read, and Error(data) if it has no line or an
// empty one.
std::vector<Prompt> read_prompts(const Arguments& arguments);

}  // namespace tenon::host
