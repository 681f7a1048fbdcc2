#include "host/command_line/arguments.h"

#include <algorithm>
#include <utility>

#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

// Returns "fp32, fp16 or bf16".
std::string join_choices(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

}  // namespace

Arguments::Arguments(const Command& command, po::variables_map options, std::vector<std::string> positional,
                     std::vector<std::string> command_line)
    : command_(command),
      options_(std::move(options)),
      positional_(std::move(positional)),
      command_line_(std::move(command_line)) {}

int64_t Arguments::count(const std::string& option, int64_t least, int64_t otherwise) const {
  if (!has(option)) return otherwise;
  const auto number = get<int64_t>(option);
  if (number < least)
    refuse("--" + option + " is " + std::to_string(number),
           least == 0 ? "0 or more" : "at least " + std::to_string(least));
  return number;
}

std::string Arguments::choice(const std::string& option, const std::vector<std::string>& words) const {
  const std::string word = text(option);
  if (has(option) && std::find(words.begin(), words.end(), word) == words.end())
    refuse("--" + option + " is \"" + word + "\"" + formats::suggest_name(word, words), join_choices(words));
  return word;
}

std::vector<std::filesystem::path> Arguments::plugin_directories() const {
  const std::vector<std::string> given = texts("plugin-dir");
  return {given.begin(), given.end()};
}

RunFile Arguments::run_file() const { return {text("config"), texts("set"), plugin_directories()}; }

void Arguments::refuse(const std::string& what, const std::string& expected) const {
  refuse_command_line(&command_, what, expected);
}

void refuse_command_line(const Command* command, const std::string& what, std::string expected) {
  if (expected.empty()) expected = usage_of(*command);
  const std::string help = command && *command->name ? program_name() + " " + command->name : program_name();
  throw support::Error(support::ErrorKind::configuration,
                       "command line: " + what + "; expected " + expected + ", see " + help + " --help");
}

}  // namespace tenon::host
