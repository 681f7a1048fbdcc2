// `host sync RUN`: does the work that the callbacks of a run left undone, such as values for a server that was away.
#include <filesystem>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/find_run.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/plugins/components/callback.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/error.h"
#include "framework/support/files.h"
#include "framework/support/nearest_path.h"
#include "host/command_line/command.h"
#include "host/process/standard_streams.h"
#include "host/training/open_run.h"

namespace tenon::host {

namespace {

namespace fs = std::filesystem;

artifacts::RunFolder require_run(const std::string& path) {
  const artifacts::RunFolder folder{support::make_absolute(artifacts::find_run(path))};
  if (!support::is_file(folder.plan_file()))
    throw support::Error(support::ErrorKind::checkpoint,
                         support::print_path(path) + ": " +
                             (support::is_folder(path) ? "has no plan.toml" : support::describe_path(path)) +
                             "; expected the folder of a run, such as runs/digits/2026-11-21T11-30-05" +
                             support::suggest_path(path, support::is_folder));
  return folder;
}

int sync(const Arguments& arguments) {
  const artifacts::RunFolder folder = require_run(arguments.positional().front());
  const support::FileDescriptor lock = artifacts::lock_run_folder(folder.root);
  const OpenedRun run = open_run({folder.plan_file(), {}, {}}, Computes::no);
  std::vector<std::string> finished;
  for (const config::CallbackPlan& plan : run.plan.callbacks) {
    const plugins::Callback callback(run.catalogue.find(config::ComponentKind::callback, plan.use), plan);
    if (callback.finish_work(folder.root.string())) finished.push_back(plan.use);
  }
  if (finished.empty())
    reporting::write_output("%s: none of its callbacks leaves work for later\n", folder.root.c_str());
  for (const std::string& use : finished)
    reporting::write_output("%s: the callback %s has nothing left to do\n", folder.root.c_str(), use.c_str());
  return 0;
}

}  // namespace

extern const Command sync_command{
    .name = "sync",
    .arguments = "RUN",
    .needed = "",
    .purpose = "send what a run logged while a server was away",
    .details =
        "Does the work that the callbacks of a run left in its folder when it ended, such as sending values to a "
        "tracking server that was away. Exits with an error as long as some of it is left.",
    .page = "reference/callbacks.md",
    .make_options = no_options,
    .run = sync,
    .is_for_one_process = true};

}  // namespace tenon::host
