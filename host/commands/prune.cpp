// `host prune`: removes old runs and checkpoints.
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr auto kRunErrors = support::ErrorKind::checkpoint;

// The disk space of a file, or of a folder with its content. Does not follow links. Unreadable files count as empty.
uint64_t measure(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return 0;
  uint64_t bytes = static_cast<uint64_t>(status.st_blocks) * 512;  // st_blocks counts 512 bytes, see stat(2)
  std::error_code ignored;
  if (S_ISDIR(status.st_mode))
    for (const fs::path& entry : support::list_folder(path, ignored)) bytes += measure(entry);
  return bytes;
}

struct Removal {
  fs::path path;
  fs::path run;  // the run folder that has it, or is it
  uint64_t bytes;
};

struct Kept {
  fs::path run;
  std::string reason;
};

struct Plan {
  std::vector<Removal> runs, checkpoints;
  std::vector<Kept> kept;  // runs that --keep-runs would remove
  uint64_t bytes = 0;
};

void add_removal(std::vector<Removal>& list, const fs::path& path, const fs::path& run, Plan& plan) {
  list.push_back({path, run, measure(path)});
  plan.bytes += list.back().bytes;
}

// Returns nothing and logs a warning if a file of the run cannot be read.
std::optional<reporting::ReadRun> read_run(const fs::path& folder) {
  try {
    return reporting::ReadRun(folder);
  } catch (const support::Error& error) {
    support::log_warning("{}; the run is kept", error.what());
    return std::nullopt;
  }
}

bool is_alive(const fs::path& run) { return artifacts::is_run_folder_held(run); }

// For each monitored metric the run with its best value; among equals the earlier. `runs`: newest first.
std::set<fs::path> find_best_runs(const std::vector<reporting::ReadRun>& runs) {
  std::map<std::string, std::pair<double, fs::path>> best;
  for (const reporting::ReadRun& run : runs) {
    const auto value = run.best(run.monitor());
    if (!value) continue;
    const double score = run.direction(run.monitor()) > 0 ? -value->value : value->value;
    const auto [place, is_first] = best.try_emplace(run.monitor(), score, run.folder().root);
    if (!is_first && score <= place->second.first) place->second = {score, run.folder().root};
  }
  std::set<fs::path> folders;
  for (const auto& [metric, run] : best) folders.insert(run.second);
  return folders;
}

bool has_checkpoint(const fs::path& run) {
  return !artifacts::list_checkpoint_folders(artifacts::RunFolder{run}.checkpoints()).empty();
}

// Plans the removal of runs of one run.name, except the newest `keep`. Returns those that stay.
std::vector<fs::path> plan_runs(const std::vector<fs::path>& folders, int64_t keep, Plan& plan) {
  std::vector<reporting::ReadRun> runs;
  for (const fs::path& folder : folders)
    if (auto run = read_run(folder)) runs.push_back(std::move(*run));
  const std::set<fs::path> best = find_best_runs(runs);
  const auto resumed = std::ranges::find_if(folders, has_checkpoint);
  std::vector<fs::path> stay;
  for (size_t i = 0; i < folders.size(); ++i) {
    const fs::path& folder = folders[i];
    const bool is_read = std::ranges::any_of(runs, [&](const auto& run) { return run.folder().root == folder; });
    std::string reason;
    if (best.contains(folder)) reason = "has the best value of its monitored metric";
    if (resumed != folders.end() && *resumed == folder) reason = "is the newest run with a checkpoint";
    if (is_alive(folder)) reason = "is running";
    const bool is_new = static_cast<int64_t>(i) < keep;
    if (is_new || !is_read || !reason.empty())
      stay.push_back(folder);
    else
      add_removal(plan.runs, folder, folder, plan);
    if (!is_new && !reason.empty()) plan.kept.push_back({folder, reason});
  }
  return stay;
}

// Whether a run can resume from the checkpoint, by its manifest and the sizes of its files.
bool can_be_resumed(const fs::path& checkpoint, const artifacts::CheckpointManifest& manifest) {
  return !manifest.state.empty() && std::ranges::all_of(manifest.files, [&](const artifacts::CheckpointFile& file) {
    std::error_code error;
    return fs::file_size(checkpoint / file.name, error) == file.bytes && !error;
  });
}

// Plans the removal of checkpoints of a run, except the newest `keep` that a run can resume from, and those that
// `latest` and `best` name. Newer checkpoints with only weights stay, too.
void plan_checkpoints(const fs::path& run, int64_t keep, Plan& plan) {
  if (is_alive(run)) return;
  try {
    std::set<std::string> linked;
    for (const char* const link : {artifacts::kLatest, artifacts::kBest})
      if (const auto checkpoint = artifacts::find_named_checkpoint(run, link))
        linked.insert(checkpoint->filename().string());
    int64_t kept = 0;
    std::vector<fs::path> surplus;
    for (const fs::path& checkpoint : artifacts::list_checkpoint_folders(artifacts::RunFolder{run}.checkpoints())) {
      const bool counts = can_be_resumed(checkpoint, artifacts::read_manifest(checkpoint));
      if (kept >= keep && !linked.contains(checkpoint.filename().string())) surplus.push_back(checkpoint);
      kept += counts;
    }
    for (const fs::path& checkpoint : surplus) add_removal(plan.checkpoints, checkpoint, run, plan);
  } catch (const support::Error& error) {
    support::log_warning("{}; the checkpoints of this run are kept", error.what());
  }
}

Plan make_plan(const fs::path& folder, std::optional<int64_t> keep_runs, std::optional<int64_t> keep_checkpoints) {
  Plan plan;
  std::map<fs::path, std::set<fs::path>> by_name;
  for (const fs::path& run : reporting::find_runs(folder)) by_name[run.parent_path()].insert(run);
  for (const auto& [parent, found] : by_name) {
    std::vector<fs::path> stay(found.begin(), found.end());
    if (keep_runs) {
      // A folder that was renamed is not a run that a newer one replaces.
      std::vector<fs::path> in_order = artifacts::list_runs(parent, "");
      std::erase_if(in_order,
                    [&, &runs = found](const fs::path& run) { return !runs.contains(run.lexically_normal()); });
      std::erase_if(stay, [&](const fs::path& run) { return std::ranges::find(in_order, run) != in_order.end(); });
      std::ranges::copy(plan_runs(in_order, *keep_runs, plan), std::back_inserter(stay));
    }
    if (keep_checkpoints)
      for (const fs::path& run : stay) plan_checkpoints(run, *keep_checkpoints, plan);
  }
  return plan;
}

// Each run is locked meanwhile, so that no process resumes it.
void remove_planned(const Plan& plan) {
  std::map<fs::path, std::vector<fs::path>> by_run;
  for (const auto* const list : {&plan.checkpoints, &plan.runs})
    for (const Removal& one : *list) by_run[one.run].push_back(one.path);
  for (const auto& [run, paths] : by_run) {
    const support::FileDescriptor lock = artifacts::lock_run_folder(run);
    for (const fs::path& path : paths) artifacts::remove_folder_durably(path, kRunErrors);
  }
}

Json to_json(const std::vector<Removal>& list) {
  Json all = Json::array();
  for (const Removal& one : list) all.push_back({{"folder", one.path.string()}, {"bytes", one.bytes}});
  return all;
}

void print(const Plan& plan, bool removes) {
  for (const auto* const list : {&plan.runs, &plan.checkpoints})
    for (const Removal& one : *list)
      reporting::write_output("{} {}  {}\n", removes ? "removed" : "would remove", support::show_path(one.path),
                              support::format_bytes(one.bytes));
  for (const Kept& one : plan.kept)
    reporting::write_output("keeping {}, which {}\n", support::show_path(one.run), one.reason);
  const auto runs = static_cast<int64_t>(plan.runs.size()), checkpoints = static_cast<int64_t>(plan.checkpoints.size());
  if (runs + checkpoints == 0) return reporting::write_output_text("nothing to remove\n");
  reporting::write_output("{} and {}, {}{}\n", support::format_count(runs, "run"),
                          support::format_count(checkpoints, "checkpoint"), support::format_bytes(plan.bytes),
                          removes ? "" : "; nothing was removed: add --yes to remove them");
}

void add_prune_options(AddOption& add) {
  add("keep-runs", integer_value("N"), "remove the runs of each run.name except the newest N");
  add("keep-checkpoints", integer_value("N"),
      "remove the checkpoints of each remaining run except the newest N, latest and best");
  add("yes", "remove; without this option, only show what would be removed");
  add_json_option(add);
}

int prune(const Arguments& arguments) {
  const fs::path folder = arguments.positional().empty() ? "runs" : arguments.positional().front();
  if (!support::is_folder(folder))
    throw_command_line_error("{}: {}; expected a folder with runs, such as run.output_dir of a run file{}",
                             support::format_path(folder), support::describe_path(folder),
                             support::suggest_path(folder, support::is_folder));
  const auto count = [&](const char* option) {
    return arguments.has(option) ? std::optional(arguments.count(option, 1)) : std::nullopt;
  };
  const auto keep_runs = count("keep-runs"), keep_checkpoints = count("keep-checkpoints");
  if (!keep_runs && !keep_checkpoints)
    arguments.refuse("nothing says what to remove", "--keep-runs N, --keep-checkpoints N, or both");
  const bool removes = arguments.has("yes");
  // One path for each run, whatever the words were: `.`, a trailing slash or links.
  const Plan plan = make_plan(support::find_canonical(folder, kRunErrors), keep_runs, keep_checkpoints);
  if (removes) remove_planned(plan);
  if (arguments.wants_json())
    reporting::write_output_json(Json{{"removed", removes},
                                      {"runs", to_json(plan.runs)},
                                      {"checkpoints", to_json(plan.checkpoints)},
                                      {"bytes", plan.bytes}});
  else
    print(plan, removes);
  return 0;
}

}  // namespace

extern const Command prune_command{
    .name = "prune",
    .arguments = "[DIR]",
    .purpose = "remove old runs and checkpoints",
    .details =
        "Shows which runs and checkpoints in a folder (default: runs) it would remove, and their disk space. Removes "
        "them with --yes. Never removes a run that is running, the newest run of a run.name that has a checkpoint, the "
        "run with the best value of its monitored metric, a run folder that was renamed, or the checkpoints that "
        "latest "
        "and best name.",
    .page = "guides/resume.md",
    .add_options = add_prune_options,
    .run = prune,
    .is_for_one_process = true};

}  // namespace tenon::host
