#include "host/command_line/format_help.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sstream>

#include "framework/support/text/terminal.h"
#include "host/command_line/registry.h"

namespace tenon::host {

namespace {

struct ExitCode {
  const char* code;
  const char* meaning;
};

constexpr ExitCode kExitCodes[] = {
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
    {"127", "LibTorch, or the engine for its version, is missing"},
    {"128+n", "signal n"},
};

std::string describe_plugin_search() {
  return "The host searches for plugins in --plugin-dir, [plugins] paths of the run file, $TENON_PLUGIN_PATH, "
         "~/.local/lib/tenon/plugins, and lib/tenon/plugins, lib/tenon/engine-VERSION/plugins or plugins next to the "
         "folder "
         "of this program.";
}

// The columns of --help: those of the terminal, within limits.
size_t find_help_width() {
  constexpr size_t kLeast = 60, kMost = 100;
  const size_t width = support::find_terminal_width(stdout);
  return width == 0 ? kMost : std::clamp(width - 1, kLeast, kMost);
}

// Boost fills the last column of some lines with a blank.
std::string remove_trailing_blanks(const std::string& text) {
  std::istringstream lines(text);
  std::string trimmed;
  for (std::string line; std::getline(lines, line);) trimmed += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return trimmed;
}

// Wraps the text at blanks.
std::string wrap(const std::string& text) {
  const size_t width = find_help_width();
  std::istringstream words(text);
  std::string wrapped;
  size_t column = 0;
  for (std::string word; words >> word;) {
    const bool fits = column + 1 + word.size() <= width;
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

// Escapes minus signs so that they can be copied, and dots at the start of a line, which would start a man request.
std::string escape(const std::string& text) {
  std::string escaped = !text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";
  for (const char letter : text) {
    if (letter == '-')
      escaped += "\\-";
    else if (letter == '\\')
      escaped += "\\e";
    else
      escaped += letter;
  }
  return escaped;
}

void print_options(std::ostream& text, const Command& command) {
  for (const Option& option : options_of(command)) {
    text << ".TP\n.B " << escape("--" + option->long_name());
    if (takes_value(option)) text << " \\fI" << escape(option->format_parameter()) << "\\fR";
    text << "\n" << escape(option->description()) << "\n";
  }
}

std::string heading_of(const Command& command) {
  return &command == &default_command() ? "host" : "host " + std::string(command.name);
}

// Returns the anchor of a heading of letters, blanks and minus signs, as Git servers and mkdocs make it.
std::string anchor_of(std::string heading) {
  for (char& letter : heading) letter = letter == ' ' ? '-' : static_cast<char>(std::tolower(letter));
  return heading;
}

// Escapes `|`, which would end the cell, and `<`, which would begin an element of HTML.
std::string escape_cell(const std::string& text) {
  std::string escaped;
  for (const char letter : text) escaped += letter == '|' ? "\\|" : letter == '<' ? "&lt;" : std::string(1, letter);
  return escaped;
}

// Returns "| `--output FILE.toml` | `run.toml` | file to write |".
std::string format_row(const Option& option) {
  std::string shown = "--" + option->long_name(), value;
  if (takes_value(option)) {
    const std::string format = option->format_parameter();  // "FILE.toml (=run.toml)"
    const size_t end = format.find(" (=");
    shown += " " + format.substr(0, end);
    if (end != format.npos) value = "`" + escape_cell(format.substr(end + 3, format.size() - end - 4)) + "`";
  }
  return "| `" + escape_cell(shown) + "` | " + value + " | " + escape_cell(option->description()) + " |\n";
}

std::string format_section(const Command& command) {
  std::string text =
      "### `" + heading_of(command) + "`\n\n```text\n" + usage_of(command) + "\n```\n\n" + command.details + "\n";
  const std::vector<Option> options = options_of(command);
  if (!options.empty()) text += "\n| option | default | meaning |\n|---|---|---|\n";
  for (const Option& option : options) text += format_row(option);
  const std::string page = command.page;
  const size_t folder = page.find('/');
  const bool is_reference = page.substr(0, folder) == "reference";
  return text + "\nMore: [" + page.substr(folder + 1) + "](" + (is_reference ? page.substr(folder + 1) : "../" + page) +
         ").\n";
}

}  // namespace

std::string format_help() {
  const Command& training = default_command();
  std::ostringstream text;
  text << "Usage: " << usage_of(training) << "\n       " << program_name() << " COMMAND ...\n\n"
       << wrap(std::string(training.details) + " For other tasks use a command; " + program_name() +
               " COMMAND --help describes it.")
       << list_commands() << "\n"
       << make_options(training, find_help_width()) << "\n"
       << wrap(describe_plugin_search()) << "\n";
  std::string codes = "Exit codes:";
  for (const auto& [code, meaning] : kExitCodes) codes += fmt::format(" {} {},", code, meaning);
  codes.back() = '.';
  text << wrap(codes);
  return remove_trailing_blanks(text.str());
}

std::string format_help(const Command& command) {
  std::ostringstream text;
  text << "Usage: " << usage_of(command) << "\n\n" << wrap(command.details);
  const po::options_description options = make_options(command, find_help_width());
  if (!options.options().empty()) text << "\n" << options;
  text << "\nThe manual page has all commands, exit codes and variables: " << program_name() << " manual | man -l -\n";
  return remove_trailing_blanks(text.str());
}

std::string format_manual(const std::string& version) {
  const Command& training = default_command();
  const std::string name = program_name();
  std::ostringstream text;
  text << ".TH " << name << " 1 \"\" \"Tenon " << version << "\" \"User Commands\"\n"
       << ".SH NAME\n"
       << name << " \\- train neural networks from plugins and a run file\n"
       << ".SH SYNOPSIS\n.B " << escape(usage_of(training)) << "\n.br\n.B " << name << " \\fICOMMAND\\fR ...\n"
       << ".SH DESCRIPTION\n"
       << escape(training.details)
       << "\n.PP\nAn installed Tenon has this program under two names, host and tenon; its Debian package has tenon "
          "only.\n.PP\n"
       << escape(describe_plugin_search()) << "\n.SH OPTIONS\n";
  print_options(text, training);
  text << ".SH COMMANDS\n";
  for (const Command* command : commands()) {
    if (command == &default_command()) continue;
    text << ".SS " << escape(usage_of(*command)) << "\n" << escape(command->details) << "\n";
    print_options(text, *command);
  }
  text << ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) text << ".TP\n.B " << escape(code) << "\n" << meaning << "\n";
  text << ".SH ENVIRONMENT\n"
       << ".TP\n.B TENON_PLUGIN_PATH\nfolders with plugins, separated by colons\n"
       << ".TP\n.B TENON_LIBTORCH\nthe folder of another LibTorch: of the Python package torch, or of an unpacked "
          "archive\n"
       << ".TP\n.B NO_COLOR\ndisables colours if set and not empty\n"
       << ".TP\n.B OMP_NUM_THREADS\nthreads of each process of a run, if run.threads does not set them\n"
       << ".TP\n.B OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME\nhow OpenMP threads wait; overrides the host's "
          "choice\n";
  return text.str();
}

std::string format_command_page() {
  std::string text =
      "# Commands\n\nThis page has the output of `host COMMAND --help` for each command; `host manual --markdown` "
      "prints it. An installed\nTenon has this program under two names, `tenon` and `host`.\n\n## Contents\n\n";
  std::string sections;
  for (const CommandGroup& group : command_groups()) {
    text += "- [" + std::string(group.heading) + "](#" + anchor_of(group.heading) + "):";
    sections += "\n## " + std::string(group.heading) + "\n";
    for (const Command* command : group.commands) {
      const std::string heading = heading_of(*command);
      text += (command == group.commands.front() ? " [`" : ", [`") + heading + "`](#" + anchor_of(heading) + ")";
      sections += "\n" + format_section(*command);
    }
    text += "\n";
  }
  text += "- [Folders with plugins](#folders-with-plugins), [exit codes](#exit-codes)\n";
  text += sections + "\n## Folders with plugins\n\n" + describe_plugin_search() + "\n\n## Exit codes\n\n";
  text += "| code | meaning |\n|---|---|\n";
  for (const auto& [code, meaning] : kExitCodes) text += fmt::format("| {} | {} |\n", code, meaning);
  return text + "\nMore: [exit_codes.md](exit_codes.md).\n";
}

}  // namespace tenon::host
