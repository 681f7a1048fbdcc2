#include "host/verify_resume/resume_verdict.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "framework/artifacts/inspect_checkpoint.h"
#include "framework/artifacts/run_folder.h"
#include "framework/support/error.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostTold = 5;  // maximum number of printed differences for each file

bool is_repeated(const ResumeVerdict& verdict, const RunDifference& difference) {
  return std::ranges::any_of(verdict.repeated.differences, [&](const RunDifference& one) {
    return one.file == difference.file && one.name == difference.name;
  });
}

bool is_left_out(const ResumeVerdict& verdict, const RunDifference& difference) {
  return difference.is_callbacks && is_repeated(verdict, difference);
}

std::string count(int64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string describe_kill(const KillAt& kill, int64_t processes) {
  const std::string whom = processes > 1 ? "rank " + std::to_string(kill.rank) + " " : "";
  return kill.moment == KillAt::Moment::step_end ? whom + "killed after step " + std::to_string(kill.step)
                                                 : whom + "killed while it saved step " + std::to_string(kill.step);
}

std::string describe_differences(const std::vector<RunDifference>& differences) {
  std::string text;
  for (size_t i = 0, told = 0; i < differences.size(); ++i) {
    const RunDifference& one = differences[i];
    if (i == 0 || differences[i - 1].file != one.file) told = 0;
    if (told++ < kMostTold)
      text += "  " + one.file + ": " + (one.name.empty() ? "" : one.name + ": ") + one.text + "\n";
    const bool is_last = i + 1 == differences.size() || differences[i + 1].file != one.file;
    if (is_last && told > kMostTold) text += "  " + one.file + ": and " + std::to_string(told - kMostTold) + " more\n";
  }
  return text;
}

std::string name_all(const std::vector<RunDifference>& differences) {
  std::vector<std::string> names;
  for (const RunDifference& one : differences)
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
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
              {"at", run.killed->moment == KillAt::Moment::step_end ? "step_end" : "save"}};
  return {{"resumed_step", run.resumed_step ? Json(*run.resumed_step) : Json()},
          {"killed", killed},
          {"last_step", run.last_step}};
}

std::vector<RunDifference> find_unsteady(const ResumeVerdict& verdict) {
  std::vector<RunDifference> found;
  std::ranges::copy_if(verdict.repeated.differences, std::back_inserter(found),
                       [](const RunDifference& one) { return !one.is_callbacks; });
  return found;
}

// Reads a text from run.json. Returns an empty text if it is missing.
std::string read_text(const std::filesystem::path& run, const char* key) {
  std::ifstream stream(artifacts::RunFolder{run}.record_file());
  const Json record = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  const bool is_there = record.is_object() && record.contains(key) && record[key].is_string();
  return is_there ? record[key].get<std::string>() : "";
}

const char* name_verdict(const ResumeVerdict& verdict) {
  if (is_same(verdict)) return "same";
  return is_unsteady(verdict) ? "not_deterministic" : "differs";
}

}  // namespace

std::vector<RunDifference> find_counting(const ResumeVerdict& verdict) {
  std::vector<RunDifference> found;
  std::ranges::copy_if(verdict.comparison.differences, std::back_inserter(found),
                       [&](const RunDifference& one) { return !is_left_out(verdict, one); });
  return found;
}

std::vector<RunDifference> find_left_out(const ResumeVerdict& verdict) {
  std::vector<RunDifference> found;
  std::ranges::copy_if(verdict.comparison.differences, std::back_inserter(found),
                       [&](const RunDifference& one) { return is_left_out(verdict, one); });
  return found;
}

bool is_unsteady(const ResumeVerdict& verdict) { return !find_unsteady(verdict).empty(); }

bool is_same(const ResumeVerdict& verdict) { return find_counting(verdict).empty() && !is_unsteady(verdict); }

int64_t read_resumed_step(const std::filesystem::path& run) {
  const auto step =
      artifacts::parse_checkpoint_folder(std::filesystem::path(read_text(run, "resumed_from")).filename().string());
  if (!step)
    throw support::Error(support::ErrorKind::internal,
                         run.string() + ": the run started from scratch; expected it to resume from a checkpoint");
  return *step;
}

std::string read_device(const std::filesystem::path& run) { return read_text(run, "device"); }

std::string describe_plan(const ResumeVerdict& verdict, const std::string& run_file) {
  const ShortenedRun& run = verdict.run;
  const std::string length = run.epochs > 0
                                 ? count(run.epochs, "epoch") + " of " + count(run.steps_per_epoch, "step")
                                 : count(run.steps, "step") + ", " + std::to_string(run.steps_per_epoch) + " per epoch";
  return run_file + " shortened: " + length + ", " +
         (verdict.processes == 1 ? "one process" : std::to_string(verdict.processes) + " processes") +
         ", a checkpoint every " + count(run.save_every, "step") + "\n";
}

std::string describe_run(const VerifiedRun& run, int64_t processes) {
  const std::string from = run.resumed_step ? "resumed at step " + std::to_string(*run.resumed_step) : "started";
  return "  " + from + ", " +
         (run.killed ? describe_kill(*run.killed, processes) : "ended after step " + std::to_string(run.last_step)) +
         "\n";
}

std::string describe_verdict(const ResumeVerdict& verdict, const std::vector<std::string>& reasons) {
  const RunComparison& all = verdict.comparison;
  std::string text;
  if (is_same(verdict)) {
    const auto kills =
        std::ranges::count_if(verdict.runs, [](const VerifiedRun& run) { return run.killed.has_value(); });
    text = "IDENTICAL: bit for bit the same with and without " + count(kills, "kill") + ": " +
           count(all.model_tensors, "tensor") + " of the model, " + count(all.training_tensors, "tensor") + " and " +
           count(all.numbers, "number") + " of the training state after step " + std::to_string(all.step) + ", " +
           count(all.lines, "line") + " of history\n";
  } else if (is_unsteady(verdict)) {
    text = "NOT DETERMINISTIC: two uninterrupted runs differ, so that resuming cannot be verified\n" +
           describe_differences(find_unsteady(verdict));
  } else {
    text = "NOT IDENTICAL: the uninterrupted and the resumed run" +
           std::string(verdict.ended_early ? ", which ended by itself before the kill" : "") + "\n" +
           describe_differences(find_counting(verdict));
  }
  if (const auto left_out = find_left_out(verdict); !left_out.empty() && !is_unsteady(verdict))
    text += "not compared, because they differ in every run, such as times: " + name_all(left_out) + "\n";
  if (is_same(verdict)) return text;
  text += "likely reasons:\n";
  for (const std::string& reason : reasons) text += "  - " + reason + "\n";
  return text + "to inspect: host checkpoint diff " + verdict.whole.string() + " " + verdict.resumed.string() + "\n";
}

std::string print_json(const ResumeVerdict& verdict, const std::vector<std::string>& reasons, const CommandLine& line) {
  const RunComparison& all = verdict.comparison;
  Json json{{"config", line.config.string()},
            {"verdict", name_verdict(verdict)},
            {"same", is_same(verdict)},
            {"seed", line.seed},
            {"processes", verdict.processes},
            {"epochs", verdict.run.epochs > 0 ? Json(verdict.run.epochs) : Json()},
            {"steps", verdict.run.steps},
            {"steps_per_epoch", verdict.run.steps_per_epoch},
            {"checkpoint_every_steps", verdict.run.save_every},
            {"ended_early", verdict.ended_early},
            {"runs", Json::array()},
            {"compared",
             {{"step", all.step},
              {"model_tensors", all.model_tensors},
              {"training_tensors", all.training_tensors},
              {"numbers", all.numbers},
              {"lines", all.lines}}},
            {"differences", to_json(find_counting(verdict))},
            {"left_out", to_json(find_left_out(verdict))},
            {"differences_without_interruption", to_json(verdict.repeated.differences)},
            {"reasons", reasons},
            {"folders", is_same(verdict) ? Json() : Json{verdict.whole.string(), verdict.resumed.string()}}};
  for (const VerifiedRun& run : verdict.runs) json["runs"].push_back(to_json(run));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::host
