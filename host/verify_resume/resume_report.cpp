#include "host/verify_resume/resume_report.h"

#include <tenon/saved_state.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/components/kinds/instance.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format_values.h"

namespace tenon::host {

namespace {

using config::ComponentKind;
using Json = nlohmann::ordered_json;

constexpr size_t kMaxShown = 5;  // maximum number of printed differences for each file

bool is_repeated(const ResumeReport& report, const RunDifference& difference) {
  return std::ranges::any_of(report.repeated.differences, [&](const RunDifference& one) {
    return one.file == difference.file && one.name == difference.name;
  });
}

// A metric of the history is in the manifest of a checkpoint, too, as "metric.NAME". Its last value may be the same in
// both runs without interruption although it varies.
bool is_left_out(const ResumeReport& report, const RunDifference& difference) {
  if (!difference.is_callbacks) return false;
  return is_repeated(report, difference) ||
         std::ranges::any_of(report.repeated.differences, [&](const RunDifference& one) {
           return one.file == "history.jsonl" && difference.name == "metric." + one.name;
         });
}

std::string describe_kill(const KillAt& kill, int64_t processes) {
  return fmt::format("{}killed {} step {}", processes > 1 ? fmt::format("rank {} ", kill.rank) : "",
                     kill.moment == KillAt::TimePoint::step_end ? "after" : "while it saved", kill.step);
}

std::string describe_differences(const std::vector<RunDifference>& differences) {
  std::string text;
  for (size_t i = 0, shown = 0; i < differences.size(); ++i) {
    const RunDifference& one = differences[i];
    if (i == 0 || differences[i - 1].file != one.file) shown = 0;
    if (shown++ < kMaxShown)
      text += "  " + one.file + ": " + (one.name.empty() ? "" : one.name + ": ") + one.text + "\n";
    const bool is_last = i + 1 == differences.size() || differences[i + 1].file != one.file;
    if (is_last && shown > kMaxShown)
      text += "  " + one.file + ": and " + std::to_string(shown - kMaxShown) + " more\n";
  }
  return text;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string name_all(const std::vector<RunDifference>& differences) {
  std::vector<std::string> names;
  for (const RunDifference& one : differences) add_once(names, one.name);
  return reporting::join(names);
}

Json to_json(const std::vector<RunDifference>& differences) {
  Json all = Json::array();
  for (const RunDifference& one : differences)
    all.push_back({{"file", one.file}, {"name", one.name}, {"difference", one.text}});
  return all;
}

Json to_json(const VerifiedRun& run) {
  Json killed;
  if (run.killed)
    killed = {{"step", run.killed->step},
              {"rank", run.killed->rank},
              {"at", run.killed->moment == KillAt::TimePoint::step_end ? "step_end" : "save"}};
  return {{"resumed_step", run.resumed_step ? Json(*run.resumed_step) : Json()},
          {"killed", killed},
          {"last_step", run.last_step}};
}

std::vector<RunDifference> find_unsteady(const ResumeReport& report) {
  std::vector<RunDifference> found = report.repeated.differences;
  std::erase_if(found, [](const RunDifference& one) { return one.is_callbacks; });
  return found;
}

// Returns whether two uninterrupted runs differ in more than metrics of callbacks.
bool is_unsteady(const ResumeReport& report) { return !find_unsteady(report).empty(); }

// Reads a text from run.json. Returns an empty text if it is missing.
std::string read_text(const std::filesystem::path& run, const char* key) {
  const std::string text = support::read_text(artifacts::RunFolder{run}.record_file());
  return reporting::text_in(Json::parse(text, nullptr, /*allow_exceptions=*/false), key);
}

const char* name_result(const ResumeReport& report) {
  if (is_same(report)) return "same";
  return is_unsteady(report) ? "not_deterministic" : "differs";
}

void add_callbacks(const OpenedRunFile& opened, std::vector<std::string>& reasons) {
  std::vector<std::string> forgetful, timed;
  for (const config::CallbackPlan& plan : opened.plan.callbacks) {
    if (!components::find_extension_table(opened.catalogue.find(ComponentKind::callback, plan.use), TENON_SAVED_STATE))
      add_once(forgetful, plan.use);
    for (const config::Period& period : {plan.filter.every, plan.filter.after})
      if (period.unit == config::Period::Unit::seconds) add_once(timed, plan.use);
  }
  if (!forgetful.empty())
    reasons.push_back(
        "callbacks without saved state, which start from scratch when the run resumes: " + reporting::join(forgetful) +
        "; a callback with state between steps must save it (tenon/saved_state.h)");
  if (!timed.empty())
    reasons.push_back("callbacks that are triggered by time (every or after): " + reporting::join(timed));
}

std::string name_components(const config::RunPlan& plan) {
  std::vector<std::string> names{"the dataset " + plan.data.train.use, "the model " + plan.model.use};
  for (const config::LossPlan& loss : plan.losses) add_once(names, "the loss " + loss.use);
  for (const config::MetricPlan& metric : plan.metrics) add_once(names, "the metric " + metric.use);
  return reporting::join(names);
}

}  // namespace

std::vector<RunDifference> find_counting(const ResumeReport& report) {
  std::vector<RunDifference> found = report.comparison.differences;
  std::erase_if(found, [&](const RunDifference& one) { return is_left_out(report, one); });
  return found;
}

std::vector<RunDifference> find_left_out(const ResumeReport& report) {
  std::vector<RunDifference> found = report.comparison.differences;
  std::erase_if(found, [&](const RunDifference& one) { return !is_left_out(report, one); });
  return found;
}

bool is_same(const ResumeReport& report) { return find_counting(report).empty() && !is_unsteady(report); }

int64_t read_resumed_step(const std::filesystem::path& run) {
  const auto step =
      artifacts::parse_checkpoint_folder(std::filesystem::path(read_text(run, "resumed_from")).filename().string());
  if (!step)
    throw support::Error(support::ErrorKind::internal,
                         run.string() + ": the run started from scratch; expected it to resume from a checkpoint");
  return *step;
}

std::string describe_plan(const ResumeReport& report, const std::string& run_file) {
  const ShortenedRun& run = report.run;
  const std::string length =
      run.epochs > 0
          ? support::format_count(run.epochs, "epoch") + " of " + support::format_count(run.steps_per_epoch, "step")
          : support::format_count(run.steps, "step") + ", " + std::to_string(run.steps_per_epoch) + " per epoch";
  return fmt::format("{} shortened: {}, {}, a checkpoint every {}\n", run_file, length,
                     report.processes == 1 ? "one process" : fmt::format("{} processes", report.processes),
                     support::format_count(run.save_every, "step"));
}

std::string describe_run(const VerifiedRun& run, int64_t processes) {
  return fmt::format(
      "  {}, {}\n", run.resumed_step ? fmt::format("resumed at step {}", *run.resumed_step) : "started",
      run.killed ? describe_kill(*run.killed, processes) : fmt::format("ended after step {}", run.last_step));
}

std::string describe_report(const ResumeReport& report, const std::vector<std::string>& reasons) {
  const RunComparison& all = report.comparison;
  std::string text;
  if (is_same(report)) {
    const auto kills =
        std::ranges::count_if(report.runs, [](const VerifiedRun& run) { return run.killed.has_value(); });
    text = fmt::format(
        "IDENTICAL: bit for bit the same with and without {}: {} of the model, {} and {} of the training state after "
        "step {}, {} of history\n",
        support::format_count(kills, "kill"), support::format_count(all.model_tensors, "tensor"),
        support::format_count(all.training_tensors, "tensor"), support::format_count(all.numbers, "number"), all.step,
        support::format_count(all.lines, "line"));
    if (all.files > 0) text.insert(text.size() - 1, ", " + support::format_count(all.files, "file") + " of callbacks");
  } else if (is_unsteady(report)) {
    text = "NOT DETERMINISTIC: two uninterrupted runs differ, so that resuming cannot be verified\n" +
           describe_differences(find_unsteady(report));
  } else {
    text = "NOT IDENTICAL: the uninterrupted and the resumed run" +
           std::string(report.ended_early ? ", which ended by itself before the kill" : "") + "\n" +
           describe_differences(find_counting(report));
  }
  if (const auto left_out = find_left_out(report); !left_out.empty() && !is_unsteady(report))
    text += "not compared, because they differ in every run, such as times: " + name_all(left_out) + "\n";
  if (is_same(report)) return text;
  text += "likely reasons:\n";
  for (const std::string& reason : reasons) text += "  - " + reason + "\n";
  return text + "to inspect: host checkpoint diff " + report.whole.string() + " " + report.resumed.string() + "\n";
}

std::string format_json(const ResumeReport& report, const std::vector<std::string>& reasons,
                        const std::filesystem::path& config, uint64_t seed) {
  const RunComparison& all = report.comparison;
  Json json{{"config", config.string()},
            {"result", name_result(report)},
            {"same", is_same(report)},
            {"seed", seed},
            {"processes", report.processes},
            {"epochs", report.run.epochs > 0 ? Json(report.run.epochs) : Json()},
            {"steps", report.run.steps},
            {"steps_per_epoch", report.run.steps_per_epoch},
            {"checkpoint_every_steps", report.run.save_every},
            {"ended_early", report.ended_early},
            {"runs", Json::array()},
            {"compared",
             {{"step", all.step},
              {"model_tensors", all.model_tensors},
              {"training_tensors", all.training_tensors},
              {"numbers", all.numbers},
              {"lines", all.lines},
              {"files", all.files}}},
            {"differences", to_json(find_counting(report))},
            {"left_out", to_json(find_left_out(report))},
            {"differences_without_interruption", to_json(report.repeated.differences)},
            {"reasons", reasons},
            {"folders", is_same(report) ? Json() : Json{report.whole.string(), report.resumed.string()}}};
  for (const VerifiedRun& run : report.runs) json["runs"].push_back(to_json(run));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> find_reasons(const ResumeReport& report, const OpenedRunFile& opened) {
  std::vector<std::string> reasons;
  if (is_same(report)) return reasons;
  const config::RunPlan& plan = opened.plan;
  if (!is_unsteady(report)) add_callbacks(opened, reasons);
  reasons.push_back("random numbers or counters inside a component: " + name_components(plan) +
                    "; a dataset must use the seed of the sample, a model the host's generators or its buffers");
  if (const std::string device = read_text(report.whole, "device"); device != "cpu")
    reasons.push_back("the run used " + device +
                      ": bitwise reproducibility is guaranteed only on the CPU; try --set run.device=cpu");
  if (is_unsteady(report) && plan.run.threads != 1)
    reasons.push_back("libraries that sum in a different order on several threads; try --set run.threads=1");
  return reasons;
}

}  // namespace tenon::host
