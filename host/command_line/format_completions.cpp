#include "host/command_line/format_help.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "framework/formats/nearest_name.h"
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/registry.h"

namespace tenon::host {
namespace {

// Possible values of an argument: words, files or folders.
struct Values {
  std::string words;
  bool files = false;
  bool folders = false;
};

// `placeholder`: the placeholder in the usage, such as FILE; "" if the option takes no value.
Values values_of(const std::string& option, const std::string& placeholder) {
  static const std::map<std::string, std::string> words = {
      {"resume", "auto latest best"},     {"checkpoint", "latest best"}, {"color", "auto always never"},
      {"data", "train validation test"},  {"dtype", "fp32 fp16 bf16"},   {"kind", "dataset model loss metric callback"},
      {"apply", "softmax sigmoid argmax"}};
  const auto known = words.find(option);
  const auto stands_for = [&](const char* name) { return placeholder.find(name) != placeholder.npos; };
  Values values;
  if (known != words.end()) values.words = known->second;
  values.files = stands_for("FILE") || stands_for("PATH") || placeholder == "A B";
  values.folders = stands_for("DIR") || stands_for("WHERE") || stands_for("RUN");
  if (stands_for("|")) {
    values.words = placeholder;
    std::replace(values.words.begin(), values.words.end(), '|', ' ');
  }
  return values;
}

// The second words of the commands that share the first word: show, verify and diff of checkpoint.
std::string second_words(const std::string& first) {
  std::vector<std::string> words;
  for (const Command* command : commands_of(first))
    words.push_back(std::string(command->name).substr(first.size() + 1));
  return reporting::join(words, " ");
}

// The first words of the commands that have two.
std::vector<std::string> first_words() {
  std::vector<std::string> words;
  for (const std::string& word : command_words())
    if (!commands_of(word).empty()) words.push_back(word);
  return words;
}

// The purpose of a first word. Several commands may share it.
std::string purpose_of(const std::string& word) {
  if (const Command* const command = find_command({word})) return command->purpose;
  const std::vector<const Command*> sharing = commands_of(word);
  return sharing.size() == 1 ? sharing.front()->purpose : "inspect checkpoints";
}

// A pattern of `case` for a command. Two words are separated by a blank.
std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string bash_values(const Values& values) {
  std::string text;
  if (!values.words.empty()) text += " -W '" + values.words + "'";
  if (values.files) text += " -f";
  if (values.folders) text += " -d";
  return text;
}

std::string format_bash() {
  std::ostringstream text;
  text << "# bash completions for Tenon's host: source <(" << program_name()
       << " completion bash)\n"
          "_tenon_host() {\n"
          "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
          "  local values= options=\n"
          "  if [[ $command == -* || $COMP_CWORD -eq 1 ]]; then command=; fi\n"
          "  case $command in\n";
  for (const std::string& word : first_words())
    text << "    " << word << ") command=\"" << word << " ${COMP_WORDS[2]}\" ;;\n";
  text << "  esac\n"
          "  case $command in\n";
  for (const Command* command : commands()) {
    std::vector<std::string> names;
    std::ostringstream cases;
    for (const Option& option : options_of(*command)) {
      names.push_back("--" + option->long_name());
      if (takes_value(option))
        cases << "        --" << option->long_name() << ") values=\""
              << bash_values(values_of(option->long_name(), placeholder_of(option))) << " \" ;;\n";
    }
    text << "    " << quoted(command->name) << ")\n      options=" << quoted(reporting::join(names, " ")) << "\n"
         << "      case $previous in\n"
         << cases.str();
    const std::string arguments = bash_values(values_of("", command->arguments));
    if (!arguments.empty()) text << "        *) [[ $word == -* ]] || values=\"" << arguments << "\" ;;\n";
    text << "      esac ;;\n";
  }
  for (const std::string& word : first_words())
    text << "    '" << word << " '*) [[ $COMP_CWORD -eq 2 ]] && values=\" -W '" << second_words(word) << "'\" ;;\n";
  text << "  esac\n"
          "  if [[ $COMP_CWORD -eq 1 && $word != -* ]]; then values=\" -W '"
       << reporting::join(command_words(), " ")
       << "'\"; fi\n"
          "  [[ -n $values ]] || values=\" -W '$options'\"\n"
          "  local offered=$(eval \"compgen$values -- \\\"\\$word\\\"\") IFS=$'\\n'\n"
          "  COMPREPLY=($offered)\n"
          "}\n"
          "complete -o filenames -F _tenon_host "
       << program_name() << "\n";
  return text.str();
}

// For '...' of zsh's _arguments, where [ ] and : are special.
std::string escape_for_zsh(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\'')
      escaped += "'\\''";
    else if (letter == '[' || letter == ']' || letter == ':')
      escaped += std::string("\\") + letter;
    else
      escaped += letter;
  }
  return escaped;
}

std::string zsh_values(const Values& values) {
  std::string action;
  if (!values.words.empty()) action += "_values word " + values.words;
  if (values.files || values.folders)
    action = values.words.empty() ? std::string(values.files ? "_files" : "_files -/")
                                  : "_alternative \"words\\:word\\:(" + values.words + ")\" \"files\\:file\\:_files\"";
  return action.empty() ? " " : action;
}

std::string format_zsh() {
  std::ostringstream text;
  text << "#compdef " << program_name() << "\n# zsh completions for Tenon's host: save as _" << program_name()
       << " in $fpath.\n"
          "_tenon_host() {\n"
          "  local -a commands=(\n";
  for (const std::string& word : command_words())
    text << "    '" << word << ":" << escape_for_zsh(purpose_of(word)) << "'\n";
  text << "  )\n"
          "  local command=${words[2]} skipped=1\n"
          "  if [[ $command == -* || $CURRENT -eq 2 ]]; then command=; skipped=0; fi\n"
          "  if [[ $CURRENT -eq 2 && ${words[2]} != -* ]]; then _describe command commands; return; fi\n"
          "  case $command in\n";
  for (const std::string& word : first_words())
    text << "    " << word << ")\n      if (( CURRENT == 3 )); then _values word " << second_words(word)
         << "; return; fi\n      command=\"" << word << " ${words[3]}\" skipped=2 ;;\n";
  text << "  esac\n"
          "  shift skipped words; (( CURRENT -= skipped ))\n"
          "  case $command in\n";
  for (const Command* command : commands()) {
    text << "    " << quoted(command->name) << ")\n      _arguments";
    for (const Option& option : options_of(*command)) {
      text << " \\\n        '*--" << option->long_name() << (takes_value(option) ? "=[" : "[")
           << escape_for_zsh(option->description()) << "]";
      if (takes_value(option))
        text << ":" << escape_for_zsh(placeholder_of(option)) << ":"
             << zsh_values(values_of(option->long_name(), placeholder_of(option)));
      text << "'";
    }
    if (const Values arguments = values_of("", command->arguments); *command->arguments)
      text << " \\\n        '*:" << escape_for_zsh(command->arguments) << ":" << zsh_values(arguments) << "'";
    text << " ;;\n";
  }
  text << "  esac\n}\n_tenon_host \"$@\"\n";
  return text.str();
}

std::string escape_for_fish(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string format_fish() {
  const std::string complete = "complete -c " + program_name();
  std::ostringstream text;
  text
      << "# fish completions for Tenon's host: " << program_name()
      << " completion fish | source\n"
         "function __tenon_host_is\n"
         "  set -l words (commandline -opc)\n"
         "  set -e words[1]\n"
         "  test (count $argv) -eq 0; and begin; test (count $words) -eq 0; or string match -q -- '-*' $words[1]; end; "
         "and return\n"
         "  test (count $argv) -gt 0; and test \"$words[1..(count $argv)]\" = \"$argv\"\n"
         "end\n";
  for (const std::string& word : command_words())
    text << complete << " -n __fish_use_subcommand -f -a " << word << " -d '" << escape_for_fish(purpose_of(word))
         << "'\n";
  for (const std::string& word : first_words())
    text << complete << " -n '__tenon_host_is " << word << "' -f -a '" << second_words(word) << "'\n";
  for (const Command* command : commands())
    for (const Option& option : options_of(*command)) {
      const Values values = values_of(option->long_name(), placeholder_of(option));
      text << complete << " -n '__tenon_host_is" << (*command->name ? " " : "") << command->name << "' -l "
           << option->long_name() << " -d '" << escape_for_fish(option->description()) << "'";
      if (takes_value(option)) text << (values.files || values.folders ? " -r -F" : " -x");
      if (!values.words.empty()) text << " -a '" << values.words << "'";
      text << "\n";
    }
  for (const Command* command : commands())
    if (const Values values = values_of("", command->arguments); !values.words.empty())
      text << complete << " -n '__tenon_host_is " << command->name << "' -f -a '" << values.words << "'\n";
  return text.str();
}

}  // namespace

std::string format_completions(const std::string& shell) {
  if (shell == "bash") return format_bash();
  if (shell == "zsh") return format_zsh();
  if (shell == "fish") return format_fish();
  throw_command_line_error("completion has no shell \"{}\"{}; expected bash, zsh or fish", shell,
                           formats::suggest_name(shell, {"bash", "zsh", "fish"}));
}

}  // namespace tenon::host
