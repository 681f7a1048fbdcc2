// `host compare`: trains several run files or values and compares them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/callbacks/progress.h"
#include "framework/config/toml/value.h"
#include "framework/data/feed.h"
#include "framework/distributed/launch/signal_inbox.h"
#include "framework/reporting/comparison/comparison_table.h"
#include "framework/reporting/report/report_page.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/terminal.h"
#include "host/command_line/command.h"
#include "host/compare/variants.h"
#include "host/process/child_run.h"
#include "host/training/open_run.h"

namespace tenon::host {

namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  std::vector<fs::path> configs;
  std::vector<std::string> varied;  // "train.precision=fp32,bf16"
  std::vector<std::string> paired;  // "train.accumulate=1,2", together with the values of `varied`
  int64_t seeds;                    // of each variant
  int64_t folds;                    // runs of each variant and seed; 0: one without folds
  fs::path output;                  // empty: a new folder in run.output_dir
  bool as_json;
  RunFile shared;  // the overrides and plugin directories of all variants
  std::string program;
};

// A valid variant with the parts of its plan that are needed later.
struct PlannedVariant {
  Variant variant;
  std::string monitor;
  fs::path output_dir;
  int64_t first_seed;
  std::vector<reporting::EpochSize> epochs;  // of each fold, or one without folds
};

RunFile run_file_of(const CompareOptions& options, const Variant& variant) {
  RunFile file = options.shared;
  file.config = variant.config;
  file.overrides.insert(file.overrides.end(), variant.overrides.begin(), variant.overrides.end());
  if (options.folds > 0) file.overrides.push_back("data.folds.count=" + std::to_string(options.folds));
  return file;
}

reporting::EpochSize measure_epoch(const OpenedRunFile& opened, const config::RunPlan& plan) {
  const data::Feed feed(opened.catalogue, plan, plan.data.train, {0, plan.distributed.processes});
  const int64_t accumulate = plan.train.accumulate;
  return {feed.sampler().size(), (feed.batches() + accumulate - 1) / accumulate};
}

std::vector<reporting::EpochSize> measure_epochs(const OpenedRunFile& opened, int64_t folds) {
  if (folds == 0) return {measure_epoch(opened, opened.plan)};
  std::vector<reporting::EpochSize> epochs;
  config::RunPlan plan = opened.plan;
  for (plan.data.folds->fold = 0; plan.data.folds->fold < folds; ++plan.data.folds->fold)
    epochs.push_back(measure_epoch(opened, plan));
  return epochs;
}

PlannedVariant plan_variant(const CompareOptions& options, const Variant& variant) {
  const OpenedRunFile opened = open_run_file(run_file_of(options, variant), Computes::no);
  return {variant, opened.plan.checkpoint.monitor, opened.plan.run.output_dir,
          static_cast<int64_t>(opened.plan.run.seed), measure_epochs(opened, options.folds)};
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options) : options_(options) {
    // All variants are checked before the first one runs, so that an error in the last one shows immediately.
    for (const Variant& variant : list_variants(options.configs, options.varied, options.paired))
      planned_.push_back(plan_variant(options, variant));
    output_ = !options.output.empty() ? support::make_absolute(options.output)
                                      : planned_.front().output_dir / "compare" /
                                            artifacts::format_time_for_names(std::chrono::system_clock::now());
    for (const PlannedVariant& planned : planned_) compared_.push_back({planned.variant, planned.monitor, {}});
  }

  // The outer loops are over seeds and folds, so that other load on the machine affects all variants.
  void run() {
    artifacts::make_folders_durably(output_, support::ErrorKind::configuration);
    const int64_t folds = std::max<int64_t>(options_.folds, 1);
    const auto total = static_cast<int64_t>(planned_.size()) * options_.seeds * folds;
    int64_t number = 0;
    std::string last_failure;
    for (int64_t seed = 0; seed < options_.seeds; ++seed)
      for (int64_t fold = 0; fold < folds; ++fold)
        for (size_t i = 0; i < planned_.size() && signal_ == 0; ++i) {
          const int64_t of_run = planned_[i].first_seed + seed;
          const std::string of_fold = options_.folds > 0 ? fmt::format(", fold {} of {}", fold, folds) : "";
          say(fmt::format("[{}/{}] {}, seed {}{}: ", ++number, total, planned_[i].variant.name, of_run, of_fold));
          compared_[i].runs.push_back(run_one(planned_[i], of_run, fold));
          const reporting::MeasuredRun& run = compared_[i].runs.back();
          say(run.failure.empty()           ? callbacks::format_elapsed(run.seconds) + "\n"
              : run.failure == last_failure ? "failed for the same reason\n"
                                            : run.failure + "\n");
          if (!run.failure.empty()) last_failure = run.failure;
        }
  }

  int report() const {
    write_files();
    if (options_.as_json) {
      reporting::write_output_text(format_json(compared_));
    } else {
      const std::string table =
          reporting::format_table(compared_, support::find_terminal_width(stdout), support::has_colours(stdout));
      reporting::write_safe_output_text("\n" + table + "\n");
      reporting::write_wrapped_output_text("runs and table in " + support::show_path(output_) + "\n");
    }
    if (signal_ != 0) return 128 + signal_;
    for (const reporting::ComparedVariant& compared : compared_)
      for (const reporting::MeasuredRun& run : compared.runs)
        if (run.exit_code != 0) return run.exit_code;
    return 0;
  }

 private:
  void write_files() const {
    const auto write = [&](const char* name, const std::string& text) {
      artifacts::write_file_durably(output_ / name, text, support::ErrorKind::system);
    };
    write("comparison.md", reporting::format_markdown(compared_));
    write("comparison.json", format_json(compared_));
    std::vector<reporting::ReadRun> runs;
    std::vector<std::string> names;
    for (const reporting::ComparedVariant& compared : compared_)
      for (const reporting::MeasuredRun& run : compared.runs) {
        if (run.folder.empty()) continue;
        runs.emplace_back(run.folder);
        names.push_back(compared.variant.name);
      }
    if (!runs.empty()) write("comparison.html", make_report_page(runs, names));
  }

  void say(const std::string& text) const {
    if (options_.as_json) return;
    reporting::write_output_text(text);
    std::fflush(stdout);
  }

  reporting::MeasuredRun run_one(const PlannedVariant& planned, int64_t seed, int64_t fold) {
    const std::string name = name_folder(planned.variant.name);
    RunFile file = run_file_of(options_, planned.variant);
    file.overrides.push_back("run.output_dir=" + config::to_toml(output_.string()));
    file.overrides.push_back("run.name=" + config::to_toml(name));
    file.overrides.push_back("run.seed=" + std::to_string(seed));
    if (options_.folds > 0) file.overrides.push_back("data.folds.fold=" + std::to_string(fold));
    std::vector<std::string> arguments{options_.program};
    append_options(file, arguments);
    const std::vector<fs::path> before = artifacts::list_runs(output_, name);
    const ChildEnd end = run_child(arguments, signals_);
    if (end.requested != 0) signal_ = end.requested;
    const std::vector<fs::path> after = artifacts::list_runs(output_, name);
    reporting::MeasuredRun run = reporting::measure_run(end.signal != 0 ? 128 + end.signal : end.exit_code, end.errors,
                                                        after.size() > before.size() ? after.front() : fs::path(),
                                                        planned.epochs[static_cast<size_t>(fold)]);
    run.seed = seed;
    if (options_.folds > 0) run.fold = fold;
    return run;
  }

  const CompareOptions& options_;
  std::vector<PlannedVariant> planned_;
  std::vector<reporting::ComparedVariant> compared_;
  fs::path output_;
  distributed::SignalInbox signals_;
  int signal_ = 0;
};

void add_compare_options(AddOption& add) {
  add("config", texts_value("FILE"), "run file (TOML); the word --config may be left out; may be repeated");
  add("vary", texts_value("KEY=VALUE,..."),
      "run each file with each of these values; may be repeated to run all combinations");
  add("with", texts_value("KEY=VALUE,..."),
      "change this key together with that of --vary, with as many values; may be repeated");
  add("seeds", integer_value("N")->default_value(1), "run each variant with N seeds, counting up from run.seed");
  add("folds", integer_value("K"), "cross-validation: run each variant with each seed on each of K folds of the data");
  add("output", text_value("DIR"), "folder for the runs and the table; default: compare/<time> in run.output_dir");
  add("set", texts_value("KEY=VALUE"), "override a key of all run files; may be repeated");
  add_plugin_directory_option(add);
  add_json_option(add);
}

int compare(const Arguments& arguments) {
  const std::vector<std::string>& configs = arguments.positional();
  const CompareOptions options{
      {configs.begin(), configs.end()}, arguments.texts("vary"),
      arguments.texts("with"),          arguments.count("seeds", 1),
      arguments.count("folds", 2),      arguments.text("output"),
      arguments.wants_json(),           {"", arguments.texts("set"), arguments.plugin_directories()},
      arguments.command_line().front()};
  Comparison comparison(options);
  comparison.run();
  return comparison.report();
}

}  // namespace

extern const Command compare_command{.name = "compare",
                                     .arguments = "FILE [FILE ...]",
                                     .purpose = "train several run files or values and compare them",
                                     .details =
                                         "Trains each run file with each value of --vary, each seed and each fold, "
                                         "one after another. Writes one table and one page for all of them.",
                                     .page = "guides/compare.md",
                                     .add_options = add_compare_options,
                                     .run = compare,
                                     .is_for_one_process = true};

}  // namespace tenon::host
