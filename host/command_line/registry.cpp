#include "host/command_line/registry.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "framework/config/file/suggest_names.h"
#include "framework/formats/nearest_name.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"

namespace tenon::host {

namespace {

using formats::did_you_mean;

// Commands of other programs.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kOtherCommands = {
    {{"checkpoints", "checkpoint show"},
     {"clean", "prune"},
     {"delete", "prune"},
     {"fit", "train"},
     {"infer", "predict"},
     {"inference", "predict"},
     {"info", "describe"},
     {"inspect", "checkpoint show"},
     {"list", "runs"},
     {"ls", "runs"},
     {"remove", "prune"},
     {"resume", "train --resume auto"},
     {"run", "train"},
     {"sample", "generate"},
     {"start", "train"},
     {"test", "evaluate"},
     {"val", "evaluate"}}};

bool has_option(const Command& command, const std::string& name) {
  return std::ranges::any_of(options_of(command), [&](const Option& option) { return option->long_name() == name; });
}

// "train.epochs=3" for the words "train.epochs", "=", "3".
std::string join_setting(std::string setting, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const bool needs_equals = setting.find('=') == setting.npos && argument.find('=') == argument.npos;
    setting += (needs_equals ? "=" : "") + argument;
  }
  return setting;
}

// The value that follows an option without a meaning.
std::string value_after(const std::string& option, const std::vector<std::string>& words) {
  const auto place = std::ranges::find_if(
      words, [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
  if (place == words.end()) return "VALUE";
  if (const size_t equals = place->find('='); equals != place->npos) return place->substr(equals + 1);
  const auto value = place + 1;
  return value == words.end() || value->starts_with('-') ? "VALUE" : *value;
}

}  // namespace

// Each is defined in a file of host/commands/.
extern const Command train_command;
extern const Command init_images_command, data_command, overfit_command, lr_find_command, profile_command,
    batch_size_command, pack_command;
extern const Command evaluate_command, predict_command, generate_command, export_command, show_checkpoint_command,
    verify_checkpoint_command, diff_checkpoints_command, runs_command, report_command, prune_command;
extern const Command compare_command, verify_resume_command;
extern const Command new_plugin_command, plugins_command, describe_command, validate_command, note_command;
extern const Command schema_command, completion_command, manual_command;
extern const Command killed_run_command;

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> groups = {
      {"A run", {&train_command}},
      {"Before a run",
       {&init_images_command, &data_command, &overfit_command, &lr_find_command, &profile_command, &batch_size_command,
        &pack_command}},
      {"After a run",
       {&evaluate_command, &predict_command, &generate_command, &export_command, &show_checkpoint_command,
        &verify_checkpoint_command, &diff_checkpoints_command, &runs_command, &report_command, &prune_command}},
      {"Several runs", {&compare_command, &verify_resume_command}},
      {"Plugins", {&new_plugin_command, &plugins_command, &describe_command, &validate_command, &note_command}},
      {"This program", {&schema_command, &completion_command, &manual_command}},
  };
  return groups;
}

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all = [] {
    std::vector<const Command*> list;
    for (const CommandGroup& group : command_groups())
      list.insert(list.end(), group.commands.begin(), group.commands.end());
    return list;
  }();
  return all;
}

const std::vector<const Command*>& internal_commands() {
  static const std::vector<const Command*> all = {&killed_run_command};
  return all;
}

const Command& default_command() { return train_command; }

const Command* find_command(const std::vector<std::string>& words) {
  if (words.empty()) return nullptr;
  std::vector<const Command*> known = commands();
  known.insert(known.end(), internal_commands().begin(), internal_commands().end());
  for (const std::string& name : {words.size() > 1 ? words[0] + " " + words[1] : words[0], words[0]})
    for (const Command* command : known)
      if (*command->name && command->name == name) return command;
  return nullptr;
}

std::vector<const Command*> commands_of(const std::string& first_word) {
  std::vector<const Command*> found;
  for (const Command* command : commands())
    if (std::string_view(command->name).starts_with(first_word + " ")) found.push_back(command);
  return found;
}

std::vector<std::string> command_words() {
  std::vector<std::string> words;
  for (const Command* command : commands()) {
    const std::string name = command->name, word = name.substr(0, name.find(' '));
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

bool looks_like_command(const std::string& word) {
  return !word.empty() && !word.starts_with('-') && word.find_first_of("=./~") == word.npos &&
         !support::path_exists(word);
}

void refuse_unknown_command(const std::string& word) {
  std::vector<std::string> known = command_words();
  known.emplace_back(kTrain);
  const auto other = std::ranges::find(kOtherCommands, word, &std::pair<std::string_view, std::string_view>::first);
  std::string meant = other != kOtherCommands.end() ? std::string(other->second) : "";
  if (meant.empty()) meant = formats::nearest_name(word, known).value_or("");
  const std::string hint =
      meant.empty() ? "; known: " + reporting::join(known) : did_you_mean(program_name() + " " + meant);
  refuse_command_line(nullptr, "\"" + word + "\" is not a command" + hint, "a command or a run file");
}

void refuse_unknown_option(const Command& command, const std::string& word, const std::vector<std::string>& words) {
  const std::string option = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const Option& each : options_of(command)) names.push_back("--" + each->long_name());
  const std::string found = "unknown option " + option;
  std::string key = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::ranges::replace(key, '-', '_');
  const std::string of_file = has_option(command, "set") ? config::find_key_of_other_table("", key) : "";
  if (!of_file.empty())
    refuse_command_line(&command, found + did_you_mean("--set " + of_file + "=" +
                                                       support::quote_for_shell(value_after(option, words))));
  // Other commands load weights; training resumes.
  if (option == "--checkpoint" && has_option(command, "resume"))
    refuse_command_line(&command, found + formats::did_you_mean_name("--resume"));
  if (option.size() == 2)
    for (const std::string& name : names)
      if (name[2] == option[1]) refuse_command_line(&command, found + formats::did_you_mean_name(name));
  refuse_command_line(&command, found + formats::suggest_name(option, names));
}

std::string suggest_argument(const Command& command, const std::vector<std::string>& arguments,
                             const po::variables_map& given) {
  const std::string& argument = arguments.front();
  const std::string shown = support::quote_for_shell(argument);
  if (has_option(command, "set")) {
    if (given.count("set"))
      if (const std::string last = given["set"].as<std::vector<std::string>>().back(); last.find('=') == last.npos)
        return did_you_mean("--set " + support::quote_for_shell(join_setting(last, arguments)));
    if (argument.find('=') != argument.npos) return did_you_mean("--set " + shown);
  }
  const std::filesystem::path path = argument;
  if (has_option(command, "checkpoint") && support::is_folder(path)) {
    const bool has_plan = !given.count("config") && support::is_file(path / "plan.toml");
    return did_you_mean((has_plan ? "--config " + support::quote_for_shell((path / "plan.toml").string()) + " " : "") +
                        "--checkpoint " + shown);
  }
  if (!has_option(command, "config") || given.count("config") || argument.empty() || argument[0] == '-') return "";
  if (support::is_file(path)) return did_you_mean("--config " + shown);
  if (support::is_folder(path)) return ", a folder";
  return support::suggest_path(path, support::is_file);
}

}  // namespace tenon::host
