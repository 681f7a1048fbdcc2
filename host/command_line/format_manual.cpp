#include "host/command_line/format_manual.h"

#include <sstream>

#include "host/command_line/print_help.h"
#include "host/command_line/registry.h"

namespace tenon::host {
namespace {

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
    if (option->semantic()->max_tokens() > 0) text << " \\fI" << escape(option->format_parameter()) << "\\fR";
    text << "\n" << escape(option->description()) << "\n";
  }
}

}  // namespace

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
  for (const ExitCode& each : exit_codes()) text << ".TP\n.B " << escape(each.code) << "\n" << each.meaning << "\n";
  text << ".SH ENVIRONMENT\n"
       << ".TP\n.B TENON_PLUGIN_PATH\nfolders with plugins, separated by colons\n"
       << ".TP\n.B NO_COLOR\ndisables colours if set and not empty\n"
       << ".TP\n.B OMP_NUM_THREADS\nthreads of each process of a run, if run.threads does not set them\n"
       << ".TP\n.B OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME\nhow OpenMP threads wait; overrides the host's "
          "choice\n";
  return text.str();
}

}  // namespace tenon::host
