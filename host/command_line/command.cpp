#include "host/command_line/command.h"

#include <errno.h>

#include <algorithm>
#include <climits>
#include <sstream>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "framework/formats/nearest_name.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
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

void require_arguments(const Command& command, const std::vector<std::string>& arguments,
                       const po::variables_map& given) {
  const ArgumentCount count = count_arguments(command);
  if (arguments.size() > count.most) {
    const std::vector<std::string> unexpected(arguments.begin() + static_cast<ptrdiff_t>(count.most), arguments.end());
    refuse_command_line(
        &command, "unexpected argument \"" + unexpected.front() + "\"" + suggest_argument(command, unexpected, given));
  }
  if (arguments.size() < count.least) {
    const std::string missing = name_argument(split_words(command.arguments)[arguments.size()]);
    refuse_command_line(&command, std::string(command.name) + " has " + (arguments.empty() ? "no " : "one ") + missing);
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

// `host compare --config a.toml`: the command has run files as arguments.
void take_options_as_arguments(const Command& command, std::vector<std::string>& arguments,
                               const po::variables_map& given) {
  if (!std::string_view(command.arguments).starts_with("FILE") || !given.count("config")) return;
  const auto files = given["config"].as<std::vector<std::string>>();
  arguments.insert(arguments.begin(), files.begin(), files.end());
}

// The run file of the run that --checkpoint names.
std::string suggest_plan(const po::variables_map& given) {
  if (!given.count("checkpoint")) return "";
  const std::filesystem::path plan = std::filesystem::path(given["checkpoint"].as<std::string>()) / "plan.toml";
  return support::is_file(plan) ? formats::did_you_mean("--config " + support::quote_for_shell(plan.string())) : "";
}

void require_options(const Command& command, const po::variables_map& given) {
  for (const std::string& word : split_words(command.needed)) {
    if (!word.starts_with("--") || given.count(word.substr(2))) continue;
    refuse_command_line(&command,
                        (*command.name ? command.name + std::string(" has no ") + word : word + " is missing") +
                            (word == "--config" ? suggest_plan(given) : ""));
  }
}

const Option* find_option(const std::vector<Option>& options, const std::string& name) {
  const size_t begin = std::min(name.find_first_not_of('-'), name.size());
  for (const Option& option : options)
    if (option->long_name() == name.substr(begin)) return &option;
  return nullptr;
}

// An option without its value, with a value that it does not take, or with one of another type.
[[noreturn]] void refuse_value(const Command& command, const std::string& name, const std::string& reason,
                               const std::string& value = "") {
  const std::vector<Option> options = options_of(command);
  const Option* const option = find_option(options, name);
  if (!option) refuse_command_line(&command, reason);
  const std::string shown = "--" + (*option)->long_name();
  if (!takes_value(*option)) refuse_command_line(&command, shown + " has a value", shown + " alone");
  const std::string with_value = shown + " " + placeholder_of(*option);
  if (value.empty()) refuse_command_line(&command, shown + " has no value", with_value);
  const auto* const typed = dynamic_cast<const po::typed_value_base*>((*option)->semantic().get());
  const bool is_whole = typed && (typed->value_type() == typeid(int64_t) || typed->value_type() == typeid(int));
  refuse_command_line(&command, shown + " is \"" + value + "\"",
                      is_whole                                         ? "a whole number"
                      : typed && typed->value_type() == typeid(double) ? "a number"
                                                                       : with_value);
}

}  // namespace

std::string join_choices(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

po::options_description make_options(const Command& command, size_t width) {
  const auto columns = static_cast<unsigned>(width);
  po::options_description options("Options", columns, columns * 3 / 5);
  AddOption add = options.add_options();
  command.add_options(add);
  return options;
}

std::vector<Option> options_of(const Command& command) { return make_options(command).options(); }

bool takes_value(const Option& option) { return option->semantic()->max_tokens() > 0; }

std::string placeholder_of(const Option& option) {
  return takes_value(option) ? option->format_parameter().substr(0, option->format_parameter().find(' ')) : "";
}

std::string program_name() { return std::string_view(program_invocation_short_name) == "tenon" ? "tenon" : "host"; }

std::string usage_of(const Command& command) {
  std::string usage = program_name();
  for (const char* part : {command.name, command.arguments, command.needed})
    if (*part) usage += std::string(" ") + part;
  return options_of(command).empty() ? usage : usage + " [options]";
}

Arguments parse_arguments(const Command& command, const std::vector<std::string>& words,
                          std::vector<std::string> command_line) {
  const po::options_description known = make_options(command);
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
    refuse_unknown_option(command, error.get_option_name(), words);
  } catch (const po::invalid_command_line_syntax& error) {
    refuse_value(command, error.get_option_name(), error.what());
  } catch (const po::validation_error& error) {
    const std::string what = error.what();  // the argument ('x') for option '--processes' is invalid
    const size_t begin = what.find("('"), end = what.find("')");
    refuse_value(command, error.get_option_name(), what,
                 end == what.npos || begin > end ? "" : what.substr(begin + 2, end - begin - 2));
  } catch (const po::multiple_occurrences& error) {
    refuse_command_line(&command, error.get_option_name() + " is given more than once", "it once");
  } catch (const po::error& error) {
    refuse_command_line(&command, error.what());
  }
  auto arguments =
      given.count(kPositional) ? given[kPositional].as<std::vector<std::string>>() : std::vector<std::string>();
  take_run_file(command, arguments, given);
  take_options_as_arguments(command, arguments, given);
  require_arguments(command, arguments, given);
  require_options(command, given);
  return {command, std::move(given), arguments, std::move(command_line)};
}

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

void append_options(const RunFile& file, std::vector<std::string>& words) {
  words.insert(words.end(), {"--config", file.config.string()});
  for (const std::filesystem::path& directory : file.plugin_directories)
    words.insert(words.end(), {"--plugin-dir", directory.string()});
  for (const std::string& one : file.overrides) words.insert(words.end(), {"--set", one});
}

RunFile Arguments::run_file() const {
  RunFile file{text("config"), texts("set"), plugin_directories()};
  if (is_model_file(file.config) && !command_.reads_model_files)
    refuse("--config is " + file.config.string() + ", a model file, which only evaluate and predict read",
           "a run file");
  return file;
}

bool is_model_file(const std::filesystem::path& config) { return config.extension() == ".tenon"; }

void Arguments::refuse(const std::string& what, const std::string& expected) const {
  refuse_command_line(&command_, what, expected);
}

void refuse_command_line(const Command* command, const std::string& what, std::string expected) {
  if (expected.empty()) expected = usage_of(*command);
  const std::string help = command && *command->name ? program_name() + " " + command->name : program_name();
  throw_command_line_error("{}; expected {}, see {} --help", what, expected, help);
}

void add_plugin_directory_option(AddOption& add) {
  add("plugin-dir", texts_value("DIR"), "search this folder for plugins first; may be repeated");
}

void add_run_file_options(AddOption& add) {
  add("config", text_value("FILE"), "run file (TOML); see configs/ for examples; the word --config may be left out");
  add("set", texts_value("KEY=VALUE"), "override a key of the run file, e.g. --set train.epochs=3; may be repeated");
  add_plugin_directory_option(add);
}

void add_checkpoint_option(AddOption& add) {
  add("checkpoint", text_value("PATH")->default_value("latest"),
      "weights to load: a checkpoint folder, a run folder, a folder of runs such as runs/NAME for the newest one, or a "
      "safetensors file; or latest or best for that checkpoint of the newest run of this name");
}

void add_json_option(AddOption& add) { add("json", "print JSON"); }

}  // namespace tenon::host
