#include "host/command_line/format_command_page.h"

#include <cctype>

#include "host/command_line/print_help.h"
#include "host/command_line/registry.h"

namespace tenon::host {
namespace {

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
  if (option->semantic()->max_tokens() > 0) {
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
  for (const ExitCode& each : exit_codes()) text += "| " + each.code + " | " + each.meaning + " |\n";
  return text + "\nMore: [exit_codes.md](exit_codes.md).\n";
}

}  // namespace tenon::host
