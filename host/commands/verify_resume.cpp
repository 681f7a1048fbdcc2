// `host verify-resume`: verifies that a run that is killed and resumed ends with the same bits as an uninterrupted run.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/config/toml/value.h"
#include "framework/distributed/launch/signal_inbox.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "host/command_line/command.h"
#include "host/process/child_run.h"
#include "host/process/temporary_folder.h"
#include "host/training/open_run.h"
#include "host/verify_resume/resume_report.h"
#include "host/verify_resume/shortened_run.h"

namespace tenon::host {

namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

// Returns the newest run. A run that was killed before its first checkpoint cannot be resumed.
fs::path find_run(const fs::path& output_dir, const std::string& name) {
  const std::vector<fs::path> runs = artifacts::list_runs(output_dir, name);
  if (runs.empty())
    throw Error(ErrorKind::internal, "{}: has no run; expected the run that has just ended",
                (output_dir / name).string());
  return runs.front();
}

std::vector<int64_t> find_saved_steps(const std::vector<artifacts::HistoryLine>& history) {
  std::vector<int64_t> steps;
  for (const artifacts::HistoryLine& line : history)
    if (line.event == artifacts::HistoryEvent::checkpoint) steps.push_back(line.step);
  return steps;
}

constexpr int kRunsDiffer = 9;  // exit code

struct VerifyResumeOptions {
  RunFile file;
  int64_t steps;  // approximate
  int64_t kills;  // of one run
  uint64_t seed;  // of the kills
  bool as_json;
  std::string program;
};

class Verification {
 public:
  Verification(const VerifyResumeOptions& options, const OpenedRunFile& opened)
      : options_(options),
        plan_(opened.plan),
        report_{shorten_run(opened, options.steps), opened.plan.distributed.processes} {}

  ResumeReport verify() {
    say(describe_plan(report_, options_.file.config.string()));
    const fs::path whole = run_whole("whole");
    const std::vector<artifacts::HistoryLine> history = reporting::read_history(whole / "history.jsonl");
    const fs::path resumed = run_killed(
        choose_kills(find_saved_steps(history), history.back().step, report_.processes, options_.kills, options_.seed));
    report_.comparison = compare_runs(whole, resumed);
    if (!report_.comparison.differences.empty()) {
      // Differences between two uninterrupted runs are not caused by resuming.
      report_.repeated = compare_runs(whole, run_whole("again"));
    } else if (report_.ended_early) {
      throw Error(ErrorKind::internal, "a run ended by itself before the kill, and is identical to the other run");
    }
    while (const auto signal = signals_.take())
      if (signal->number != SIGCHLD) stop(signal->number);
    if (!is_same(report_)) {
      folder_.keep();
      report_.whole = whole;
      report_.resumed = resumed;
    }
    return std::move(report_);
  }

 private:
  void say(const std::string& text) const {
    if (options_.as_json) return;
    reporting::write_wrapped_output_text(text);
    std::fflush(stdout);
  }

  fs::path run_whole(const std::string& name) {
    const ChildEnd end = run(name, std::nullopt);
    if (end.signal != 0 || end.exit_code != 0)
      fail(end, "without interruption", "expected a run that works; test it with host --dry-run");
    const fs::path run = find_run(folder_.path() / name, plan_.run.name);
    report_one({run, {}, {}, reporting::read_history(run / "history.jsonl").back().step});
    return run;
  }

  // Kills the run at each point and resumes it from its newest checkpoint.
  fs::path run_killed(const std::vector<KillAt>& kills) {
    const std::string name = "killed";
    for (size_t i = 0; i <= kills.size() && !report_.ended_early; ++i) {
      const auto kill = i < kills.size() ? std::optional(kills[i]) : std::nullopt;
      const ChildEnd end = run(name, kill);
      const bool was_killed = kill && was_killed_by(end, *kill);
      if (!was_killed && (end.signal != 0 || end.exit_code != 0))
        fail(end, i == 0 ? "before the kill" : fmt::format("that was killed at step {} and resumed", kills[i - 1].step),
             "expected it to work like the uninterrupted run");
      report_.ended_early = kill && !was_killed;
      const fs::path run = find_run(folder_.path() / name, plan_.run.name);
      const std::vector<artifacts::HistoryLine> history = reporting::read_history(run / "history.jsonl");
      report_one({run, i > 0 ? std::optional(read_resumed_step(run)) : std::nullopt, was_killed ? kill : std::nullopt,
                  history.back().step});
    }
    return find_run(folder_.path() / name, plan_.run.name);
  }

  // With several processes, the message of the launcher names the first one that ended and its signal.
  bool was_killed_by(const ChildEnd& end, const KillAt& kill) const {
    if (report_.processes == 1) return end.signal == SIGKILL;
    const std::string cause = "rank " + std::to_string(kill.rank) + " was ended by SIGKILL";
    return end.signal == 0 && end.exit_code == static_cast<int>(ErrorKind::rank_lost) &&
           end.errors.find(cause) != std::string::npos;
  }

  ChildEnd run(const std::string& name, const std::optional<KillAt>& kill) {
    std::vector<std::string> arguments{options_.program};
    if (kill) arguments.push_back("killed-run");
    RunFile file = options_.file;
    file.overrides.insert(file.overrides.end(), report_.run.overrides.begin(), report_.run.overrides.end());
    file.overrides.push_back("run.output_dir=" + config::to_toml((folder_.path() / name).string()));
    append_options(file, arguments);
    if (kill) {
      arguments.insert(arguments.end(), {"--step", std::to_string(kill->step), "--rank", std::to_string(kill->rank)});
      if (kill->moment == KillAt::TimePoint::saved_step) arguments.push_back("--during-save");
    } else {
      arguments.insert(arguments.end(), {"--resume", "auto"});
    }
    ChildEnd end = run_child(arguments, signals_);
    if (end.requested != 0) stop(end.requested);
    return end;
  }

  [[noreturn]] static void stop(int signal) {
    throw Error(support::kind_of_signal(signal), "stopped by signal {}; no files were kept", strsignal(signal));
  }

  [[noreturn]] static void fail(const ChildEnd& end, const std::string& which, const std::string& expected) {
    std::fputs(end.errors.c_str(), stderr);
    const int code = end.signal != 0 ? 128 + end.signal : end.exit_code;
    throw Error(static_cast<ErrorKind>(code),
                "the run {} failed by itself with exit code {} (see its message above); {}", which, code, expected);
  }

  void report_one(const VerifiedRun& run) {
    report_.runs.push_back(run);
    say(describe_run(report_.runs.back(), report_.processes));
  }

  const VerifyResumeOptions& options_;
  const config::RunPlan& plan_;
  ResumeReport report_;
  distributed::SignalInbox signals_;  // declared first: signals are handled until the folder is removed
  TemporaryFolder folder_{"tenon-verify-resume-"};
};

void add_verify_resume_options(AddOption& add) {
  add_run_file_options(add);
  add("processes", integer_value("N"), "train with N processes on this machine");
  add("steps", integer_value("N")->default_value(24), "approximate number of steps of the shortened run");
  add("kills", integer_value("N")->default_value(2), "how many times the run is killed and resumed");
  add("seed", po::value<uint64_t>()->value_name("N")->default_value(0),
      "seed that chooses the steps and ranks to kill");
  add_json_option(add);
}

// Runs a shortened version of the run file (shortened_run.h) in child processes, once uninterrupted and once killed and
// resumed. Removes the files of the runs unless they differ. If a run fails by itself, its standard error is printed
// and the Error has its exit code.
int verify_resume(const Arguments& arguments) {
  VerifyResumeOptions options{arguments.run_file(),        arguments.count("steps", 4),
                              arguments.count("kills", 1), arguments.get<uint64_t>("seed"),
                              arguments.wants_json(),      arguments.command_line().front()};
  if (arguments.has("processes"))
    options.file.overrides.push_back("distributed.processes=" + std::to_string(arguments.count("processes", 1)));
  const OpenedRunFile opened = open_run_file(options.file, Computes::no);
  const ResumeReport report = Verification(options, opened).verify();
  const std::vector<std::string> reasons = find_reasons(report, opened);
  options.as_json ? reporting::write_output_text(format_json(report, reasons, options.file.config, options.seed))
                  : reporting::write_wrapped_output_text(describe_report(report, reasons));
  return is_same(report) ? 0 : kRunsDiffer;
}

}  // namespace

extern const Command verify_resume_command{
    .name = "verify-resume",
    .needed = "--config FILE",
    .purpose = "check that a killed run resumes bit for bit",
    .details =
        "Trains a shortened run twice, without and with kills. Reports whether every tensor and metric value is "
        "identical. The exit code is 9 if one differs.",
    .page = "reference/verify_resume.md",
    .add_options = add_verify_resume_options,
    .run = verify_resume,
    .is_for_one_process = true};

}  // namespace tenon::host
