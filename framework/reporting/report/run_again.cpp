#include "framework/reporting/report/run_again.h"

#include <string>

#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"

namespace tenon::reporting {

namespace {

std::string format_command_line(const ReadRun& run) {
  std::string text;
  const auto words = run.record().find("command_line");
  if (words == run.record().end() || !words->is_array()) return text;
  for (const auto& word : *words)
    if (word.is_string()) text += (text.empty() ? "" : " ") + support::quote_for_shell(word.get<std::string>());
  return text;
}

std::string describe_commit(const ReadRun& run) {
  const auto git = run.record().find("git");
  if (git == run.record().end() || !git->is_object()) return "";
  const auto commit = git->find("commit");
  if (commit == git->end() || !commit->is_string()) return "";
  const bool is_dirty = git->contains("dirty") && (*git)["dirty"] == true;
  std::string text = ", at commit " + commit->get<std::string>();
  if (is_dirty) text += " with uncommitted changes";
  if (const auto patch = git->find("patch"); patch != git->end() && patch->is_string())
    text += ", which are in " + patch->get<std::string>();
  return text;
}

}  // namespace

std::string describe_run_again(const ReadRun& run) {
  const std::string host = "host";
  const std::string folder = support::find_canonical_or_absolute(run.folder().root).string();
  const std::string plan = support::quote_for_shell(folder + "/plan.toml");
  std::string text = "# repeat the run, from any folder: the plan has all defaults and absolute paths\n" + host +
                     " --config " + plan + "\n";
  if (run.state() != "finished")
    text += "\n# resume from the newest checkpoint\n" + host + " --config " + plan + " --resume " +
            support::quote_for_shell(folder) + "\n";
  const std::string checkpoint = run.monitor().empty() ? "latest" : "best";
  text += "\n# compute the metrics of the " + checkpoint + " weights\n" + host + " evaluate --config " + plan +
          " --checkpoint " + support::quote_for_shell(folder + "/checkpoints/" + checkpoint) + "\n";
  if (const std::string typed = format_command_line(run); !typed.empty())
    text +=
        "\n# the original command, in " + run.text("working_directory") + describe_commit(run) + "\n" + typed + "\n";
  return text;
}

}  // namespace tenon::reporting
