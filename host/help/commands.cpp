#include "host/help/commands.h"

#include <algorithm>

namespace tenon::host {

const std::vector<Command>& commands() {
  static const char* const kBefore = "Before a run";
  static const char* const kAfter = "After a run";
  static const char* const kSeveral = "Several runs";
  static const char* const kPlugins = "Plugins";
  static const char* const kHost = "This program";
  static const std::vector<Command> list = {
      {"", "", "--config FILE", "A run", "train the model of a run file",
       "Trains the model of the run file with the components of plugins, and writes checkpoints, histories and a "
       "report "
       "into a folder of its own.",
       "run_file.md", make_options},
      {"data", "", "--config FILE", kBefore, "show what a dataset gives, and time its loader",
       "Shows the first samples of a dataset of the run file with their dtypes, shapes and ranges, draws them into a "
       "page with --sheet, and times the loader without a model.",
       "data.md", make_data_options},
      {"overfit", "", "--config FILE", kBefore, "learn a few samples by heart, or say why it cannot",
       "Trains on a few samples until the loss is below a threshold. Where it stays above, names the tensors without "
       "gradients and the outputs that never change.",
       "run_file.md", make_overfit_options},
      {"lr-find", "", "--config FILE", kBefore, "look for the learning rates at which the loss falls",
       "Raises the learning rate step by step and shows the loss at each, until it explodes.", "run_file.md",
       make_lr_find_options},
      {"profile", "", "--config FILE", kBefore, "count what the model costs in operations, memory and time",
       "Counts parameters, multiplications and memory by module, from the operators that run, and times steps and "
       "evaluations.",
       "profile.md", make_profile_options},
      {"pack", "", "--config FILE --data NAME --out DIR", kBefore, "write a dataset as shards",
       "Writes a dataset of the run file as tar files, which the dataset tar_shards reads faster than single files.",
       "shards.md", make_pack_options},
      {"evaluate", "", "--config FILE", kAfter, "compute the figures of trained weights",
       "Computes losses and metrics of a checkpoint's weights on the validation data, or on another dataset of the run "
       "file.",
       "evaluate_and_predict.md", make_evaluate_options},
      {"predict", "", "--config FILE --data NAME --output FILE", kAfter, "write what trained weights give, by sample",
       "Writes the model's outputs for each sample of a dataset into a CSV or safetensors file.",
       "evaluate_and_predict.md", make_predict_options},
      {"export", "", "--config FILE --output FILE", kAfter, "write trained weights, or the model with them, for Python",
       "Writes the weights as safetensors, or the model with them as TorchScript.", "checkpoint_tools.md",
       make_export_options},
      {"checkpoint show", "PATH", "", kAfter, "show what is in a checkpoint",
       "Shows the tensors and the settings of a checkpoint, of a run's newest one, or of a safetensors file.",
       "checkpoint_tools.md", make_checkpoint_options},
      {"checkpoint verify", "PATH", "", kAfter, "say whether a checkpoint is what was written",
       "Reads a checkpoint, or all of a run, and compares each file with the digest that was written beside it.",
       "checkpoint_tools.md", make_checkpoint_options},
      {"checkpoint diff", "A B", "", kAfter, "say how two checkpoints differ",
       "Compares two checkpoints tensor by tensor. The exit code is 9 if they differ.", "checkpoint_tools.md",
       make_checkpoint_options},
      {"runs", "[DIR]", "", kAfter, "list the runs in a folder",
       "Lists the runs in a folder, runs without one, with state, length and best figures.", "report.md",
       make_runs_options},
      {"report", "RUN [RUN ...]", "", kAfter, "draw the curves of runs into a page",
       "Draws the curves of a run, or of several side by side, into a page that needs no network.", "report.md",
       make_report_options},
      {"compare", "FILE [FILE ...]", "", kSeveral, "run several run files, or values, and set them side by side",
       "Runs each run file with each value of --vary and each seed in turn, and makes one table and one page of them.",
       "compare.md", make_compare_options},
      {"verify-resume", "", "--config FILE", kSeveral, "kill a run, go on with it, and compare the bits",
       "Trains in short twice, once without and once with kills, and says whether every tensor and figure is the same. "
       "The exit code is 9 if one differs.",
       "resume.md", make_verify_resume_options},
      {"plugins", "", "", kPlugins, "list the plugins that are found, and why others are refused",
       "Lists the plugins where they are looked for, with their components. Runs no code of theirs without --load.",
       "components.md", make_show_options},
      {"describe", "ID", "", kPlugins, "describe a component and its parameters",
       "Shows the parameters of a component with types, ranges and defaults; with --ports also what it takes and "
       "gives.",
       "components.md", make_show_options},
      {"validate", "FILE", "", kPlugins, "try a plugin before a run trusts it",
       "Makes every check that the plugin's components allow, each in a process of its own. The exit code is 3 if one "
       "fails.",
       "validate.md", make_validate_options},
      {"note", "FILE", "", kPlugins, "write into a plugin's file what it has",
       "Writes the plugin's list of components into its file, where `host plugins` reads it without loading the "
       "plugin.",
       "writing_plugins.md", make_note_options},
      {"schema", "", "", kHost, "print a JSON schema of run files, for editors",
       "Prints a JSON schema of run files with the parameters of all plugins that are found, by which editors complete "
       "and check them.",
       "editors.md", make_schema_options},
      {"completion", "bash|zsh|fish", "", kHost, "print the completions of a shell",
       "Prints what a shell sources to complete commands, options and their values.", "editors.md", make_no_options},
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

std::string usage_of(const Command& command) {
  std::string usage = "host";
  for (const std::string& part : {command.name, command.arguments, command.needed})
    if (!part.empty()) usage += " " + part;
  return options_of(command).empty() ? usage : usage + " [options]";
}

}  // namespace tenon::host
