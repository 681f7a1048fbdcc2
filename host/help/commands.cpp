#include "host/help/commands.h"

#include <errno.h>

#include <algorithm>
#include <string_view>

namespace tenon::host {

const std::vector<Command>& commands() {
  static const char* const kBefore = "Before a run";
  static const char* const kAfter = "After a run";
  static const char* const kSeveral = "Several runs";
  static const char* const kPlugins = "Plugins";
  static const char* const kHost = "This program";
  static const std::vector<Command> list = {
      {"", "", "--config FILE", "A run", "train the model of a run file",
       "Trains the model of the run file with components from plugins. Writes checkpoints, a history and a report to a "
       "new run folder.",
       "run_file.md", make_options},
      {"data", "", "--config FILE", kBefore, "show the samples of a dataset and time its loader",
       "Shows the first samples of a dataset with their dtypes, shapes and ranges. Times the loader without a model. "
       "--sheet renders the samples to a page.",
       "data.md", make_data_options},
      {"overfit", "", "--config FILE", kBefore, "overfit a few samples, or report why it fails",
       "Trains on a few samples until the loss falls below a threshold. If it does not, lists the tensors without "
       "gradients and the outputs that never change.",
       "run_file.md", make_overfit_options},
      {"lr-find", "", "--config FILE", kBefore, "find the learning rates at which the loss falls",
       "Raises the learning rate step by step and shows the loss at each step, until the loss diverges.", "run_file.md",
       make_lr_find_options},
      {"profile", "", "--config FILE", kBefore, "measure the model's operations, memory and time",
       "Counts parameters, multiplications and memory of each module from the operators that run. Times training steps "
       "and evaluation.",
       "profile.md", make_profile_options},
      {"pack", "", "--config FILE --data NAME --out DIR", kBefore, "write a dataset as shards",
       "Writes a dataset of the run file as tar files. The dataset tar_shards reads them faster than single files.",
       "shards.md", make_pack_options},
      {"evaluate", "", "--config FILE", kAfter, "compute the losses and metrics of trained weights",
       "Computes the losses and metrics of a checkpoint on the validation data, or on another dataset of the run file.",
       "evaluate_and_predict.md", make_evaluate_options},
      {"predict", "", "--config FILE --data NAME --output FILE", kAfter,
       "write the outputs of trained weights for each sample",
       "Writes the model's outputs for each sample of a dataset to a CSV or safetensors file.",
       "evaluate_and_predict.md", make_predict_options},
      {"export", "", "--config FILE --output FILE", kAfter, "export trained weights or the model for Python",
       "Writes the weights as safetensors, or the model with its weights as TorchScript.", "checkpoint_tools.md",
       make_export_options},
      {"checkpoint show", "PATH", "", kAfter, "show the contents of a checkpoint",
       "Shows the tensors and settings of a checkpoint, of the newest checkpoint of a run, or of a safetensors file.",
       "checkpoint_tools.md", make_checkpoint_options},
      {"checkpoint verify", "PATH", "", kAfter, "check a checkpoint for damage",
       "Reads a checkpoint, or all checkpoints of a run, and compares each file with its stored digest.",
       "checkpoint_tools.md", make_checkpoint_options},
      {"checkpoint diff", "A B", "", kAfter, "compare two checkpoints",
       "Compares two checkpoints tensor by tensor. The exit code is 9 if they differ.", "checkpoint_tools.md",
       make_checkpoint_options},
      {"runs", "[DIR]", "", kAfter, "list the runs in a folder",
       "Lists the runs in a folder (default: runs) with state, length and best metric values.", "report.md",
       make_runs_options},
      {"report", "RUN [RUN ...]", "", kAfter, "plot the curves of runs on an HTML page",
       "Plots the curves of a run, or of several runs side by side, on an HTML page that needs no network.",
       "report.md", make_report_options},
      {"compare", "FILE [FILE ...]", "", kSeveral, "train several run files or values and compare them",
       "Trains each run file with each value of --vary and each seed, one after another. Writes one table and one page "
       "for all of them.",
       "compare.md", make_compare_options},
      {"verify-resume", "", "--config FILE", kSeveral, "check that a killed run resumes bit for bit",
       "Trains a shortened run twice, without and with kills. Reports whether every tensor and metric value is "
       "identical. The exit code is 9 if one differs.",
       "resume.md", make_verify_resume_options},
      {"plugins", "", "", kPlugins, "list the plugins found and why others are refused",
       "Lists the plugins in the search folders and their components. Runs no plugin code without --load.",
       "components.md", make_show_options},
      {"describe", "ID", "", kPlugins, "describe a component and its parameters",
       "Shows the parameters of a component with types, ranges and defaults. --ports adds its inputs and outputs.",
       "components.md", make_show_options},
      {"validate", "FILE", "", kPlugins, "check a plugin before you train with it",
       "Runs every check that applies to the plugin's components, each in a separate process. The exit code is 3 "
       "if one fails.",
       "validate.md", make_validate_options},
      {"note", "FILE", "", kPlugins, "write the list of components into a plugin file",
       "Writes the plugin's list of components into its file. `host plugins` reads the list without loading the "
       "plugin.",
       "writing_plugins.md", make_note_options},
      {"schema", "", "", kHost, "print a JSON schema of run files for editors",
       "Prints a JSON schema of run files with the parameters of all plugins found. Editors use it to complete "
       "and check run files.",
       "editors.md", make_schema_options},
      {"completion", "bash|zsh|fish", "", kHost, "print shell completions",
       "Prints the script that a shell sources to complete commands, options and values.", "editors.md",
       make_no_options},
      {"manual", "", "", kHost, "print the manual page", "Prints the manual page that `man tenon` shows.", "editors.md",
       make_no_options},
  };
  return list;
}

const Command* find_command(const std::vector<std::string>& words) {
  if (words.empty()) return nullptr;
  const std::string two = words.size() > 1 ? words[0] + " " + words[1] : words[0];
  for (const std::string& name : {two, words[0], words[0] + " show"})
    for (const Command& command : commands())
      if (!command.name.empty() && command.name == name) return &command;
  return nullptr;
}

std::vector<std::string> command_words() {
  std::vector<std::string> words;
  for (const Command& command : commands()) {
    const std::string word = command.name.substr(0, command.name.find(' '));
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

std::vector<Option> options_of(const Command& command) { return command.make_options().options(); }

std::string program_name() { return std::string_view(program_invocation_short_name) == "tenon" ? "tenon" : "host"; }

std::string usage_of(const Command& command) {
  std::string usage = program_name();
  for (const std::string& part : {command.name, command.arguments, command.needed})
    if (!part.empty()) usage += " " + part;
  return options_of(command).empty() ? usage : usage + " [options]";
}

}  // namespace tenon::host
