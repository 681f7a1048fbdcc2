#include "host/command_line/print_help.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "host/command_line/registry.h"

namespace tenon::host {
namespace {

constexpr size_t kWidth = 100;

// Wraps the text at blanks to lines of at most kWidth columns.
std::string wrap(const std::string& text) {
  std::istringstream words(text);
  std::string wrapped;
  size_t column = 0;
  for (std::string word; words >> word;) {
    const bool fits = column + 1 + word.size() <= kWidth;
    if (column > 0) wrapped += fits ? " " : "\n";
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    wrapped += word;
  }
  return wrapped + "\n";
}

std::string list_commands() {
  size_t widest = 0;
  for (const Command* command : commands()) widest = std::max(widest, std::strlen(command->name));
  std::string text;
  for (const CommandGroup& group : command_groups()) {
    if (group.commands.front() == &default_command()) continue;
    text += "\n" + std::string(group.heading) + ":\n";
    for (const Command* command : group.commands) {
      const std::string name = command->name;
      text += "  " + name + std::string(widest - name.size() + 2, ' ') + command->purpose + "\n";
    }
  }
  return text;
}

}  // namespace

std::string describe_plugin_search() {
  return "The host searches for plugins in --plugin-dir, [plugins] paths of the run file, $TENON_PLUGIN_PATH, "
         "~/.local/lib/tenon/plugins, and lib/tenon/plugins or plugins next to the folder of this program.";
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> codes = {
      {"0", "success"},
      {"1", "internal error"},
      {"2", "configuration"},
      {"3", "plugin"},
      {"4", "data"},
      {"5", "checkpoint"},
      {"6", "lost another process"},
      {"7", "non-finite loss"},
      {"8", "overfit did not reach its threshold"},
      {"9", "checkpoint diff or verify-resume found a difference"},
      {"10", "out of memory"},
      {"11", "the machine failed, such as a full disk"},
      {"12", "the device failed: an error of CUDA, cuBLAS, cuDNN or NCCL"},
      {"128+n", "signal n"},
  };
  return codes;
}

std::string help_text() {
  const Command& training = default_command();
  std::ostringstream text;
  text << "Usage: " << usage_of(training) << "\n       " << program_name() << " COMMAND ...\n\n"
       << wrap(std::string(training.details) + " For other tasks use a command; " + program_name() +
               " COMMAND --help describes it.")
       << list_commands() << "\n"
       << training.make_options() << "\n"
       << wrap(describe_plugin_search()) << "\n";
  std::string codes = "Exit codes:";
  for (const ExitCode& each : exit_codes()) codes += " " + each.code + " " + each.meaning + ",";
  codes.back() = '.';
  text << wrap(codes);
  return text.str();
}

std::string help_text(const Command& command) {
  std::ostringstream text;
  text << "Usage: " << usage_of(command) << "\n\n" << wrap(command.details);
  const po::options_description options = command.make_options();
  if (!options.options().empty()) text << "\n" << options;
  text << "\nThe manual page has all commands, exit codes and variables: " << program_name() << " manual | man -l -\n";
  return text.str();
}

}  // namespace tenon::host
