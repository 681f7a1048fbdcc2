#include "host/command_line/command.h"

#include <errno.h>

#include <algorithm>
#include <climits>
#include <sstream>
#include <string_view>
#include <utility>

#include "framework/support/nearest_name.h"
#include "host/command_line/registry.h"

namespace tenon::host {

namespace {

constexpr const char* kPositional = "positional arguments";

std::vector<std::string> split_words(const char* text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

struct ArgumentCount {
  size_t least = 0;
  size_t most = 0;
};

// "RUN [RUN ...]": at least one; "[DIR]": at most one.
ArgumentCount count_arguments(const Command& command) {
  ArgumentCount count;
  for (const std::string& word : split_words(command.arguments)) {
    if (word == "...]") {
      count.most = INT_MAX;
    } else {
      count.least += word.front() != '[';
      ++count.most;
    }
  }
  return count;
}

// "file" for "FILE", "shell" for "bash|zsh|fish".
std::string name_argument(const std::string& placeholder) {
  if (placeholder.find('|') != placeholder.npos) return "shell";
  if (placeholder == "A" || placeholder == "B") return "path";
  if (placeholder == "DIR") return "folder";
  std::string name = placeholder;
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

// What a user may have meant by an argument that the command does not take: --set for train.epochs=3, --config for a
// file, or a command.
std::string guess_meaning(const Command& command, const std::string& argument, bool has_config) {
  if (*command.name) return "";
  std::vector<std::string> words = command_words();
  words.emplace_back(kTrain);
  if (const auto word = support::nearest_name(argument, words)) return "; did you mean host " + *word + "?";
  const bool is_setting = argument.find('=') != argument.npos;
  if (!is_setting && (has_config || argument.empty() || argument[0] == '-')) return "";
  return std::string("; did you mean ") + (is_setting ? "--set " : "--config ") + argument + "?";
}

void require_arguments(const Command& command, const std::vector<std::string>& given, bool has_config) {
  const ArgumentCount count = count_arguments(command);
  if (given.size() > count.most) {
    const std::string& unexpected = given[count.most];
    refuse_command_line(&command,
                        "unexpected argument \"" + unexpected + "\"" + guess_meaning(command, unexpected, has_config));
  }
  if (given.size() < count.least) {
    const std::string missing = name_argument(split_words(command.arguments)[given.size()]);
    refuse_command_line(&command, std::string(command.name) + " has " + (given.empty() ? "no " : "one ") + missing);
  }
}

// `host run.toml` and `host profile run.toml`: a run file needs no --config.
void take_run_file(const Command& command, std::vector<std::string>& arguments, po::variables_map& given) {
  const std::vector<std::string> needed = split_words(command.needed);
  if (given.count("config") > 0 || std::ranges::find(needed, "--config") == needed.end()) return;
  const size_t place = count_arguments(command).most;
  if (arguments.size() <= place || !arguments[place].ends_with(".toml")) return;
  given.insert({"config", po::variable_value(arguments[place], /*defaulted=*/false)});
  arguments.erase(arguments.begin() + static_cast<ptrdiff_t>(place));
}

void require_options(const Command& command, const po::variables_map& given) {
  for (const std::string& word : split_words(command.needed)) {
    if (!word.starts_with("--") || given.count(word.substr(2))) continue;
    refuse_command_line(&command, *command.name ? command.name + std::string(" has no ") + word : word + " is missing");
  }
}

}  // namespace

std::vector<Option> options_of(const Command& command) { return command.make_options().options(); }

std::string program_name() { return std::string_view(program_invocation_short_name) == "tenon" ? "tenon" : "host"; }

std::string usage_of(const Command& command) {
  std::string usage = program_name();
  for (const char* part : {command.name, command.arguments, command.needed})
    if (*part) usage += std::string(" ") + part;
  return options_of(command).empty() ? usage : usage + " [options]";
}

Arguments parse_arguments(const Command& command, const std::vector<std::string>& words,
                          std::vector<std::string> command_line) {
  const po::options_description known = command.make_options();
  po::options_description all;
  all.add(known).add_options()(kPositional, po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  po::variables_map given;
  try {
    // Abbreviations are not accepted: a later version could give them another meaning.
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(words).options(all).positional(positional).style(style).run(), given);
    po::notify(given);
  } catch (const po::unknown_option& error) {
    refuse_command_line(&command, "unknown option " + error.get_option_name() +
                                      support::suggest_name(error.get_option_name(), option_names(known)));
  } catch (const po::error& error) {
    refuse_command_line(&command, error.what());
  }
  auto arguments =
      given.count(kPositional) ? given[kPositional].as<std::vector<std::string>>() : std::vector<std::string>();
  take_run_file(command, arguments, given);
  require_arguments(command, arguments, given.count("config") > 0);
  require_options(command, given);
  return {command, std::move(given), arguments, std::move(command_line)};
}

}  // namespace tenon::host
