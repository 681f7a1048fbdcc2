#include "host/command_line/registry.h"

#include <algorithm>
#include <string_view>

namespace tenon::host {

// Each is defined in a file of host/commands/.
extern const Command train_command;
extern const Command init_images_command, data_command, overfit_command, lr_find_command, profile_command,
    batch_size_command, pack_command;
extern const Command evaluate_command, predict_command, generate_command, export_command, show_checkpoint_command,
    verify_checkpoint_command, diff_checkpoints_command, runs_command, report_command;
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
        &verify_checkpoint_command, &diff_checkpoints_command, &runs_command, &report_command}},
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

}  // namespace tenon::host
