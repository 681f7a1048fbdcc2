#include "framework/reporting/terminal/run_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "framework/artifacts/run_folder/machine.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/components/kinds/model.h"
#include "framework/reporting/terminal/write_output.h"

namespace tenon::reporting {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::map<std::string, double>& metrics) {
  Json json = Json::object();
  // Uses the number format of the history: JSON has no NaN and no infinities.
  for (const auto& [name, value] : metrics) json[name] = Json::parse(artifacts::format_json_number(value));
  return json;
}

Json describe_start(const artifacts::FoundCheckpoint* resumed_from) {
  if (!resumed_from) return nullptr;
  return {{"checkpoint", resumed_from->folder.string()},
          {"epoch", resumed_from->manifest.epoch},
          {"step", resumed_from->manifest.step},
          {"crashed", resumed_from->has_run_crashed}};
}

Json describe_best(const pipeline::RunReport& report, const pipeline::Training& training,
                   const artifacts::RunFolder& folder) {
  if (!report.best) return nullptr;
  return {{"metric", training.monitor->metric},
          {"value", Json::parse(artifacts::format_json_number(report.best->value))},
          {"step", report.best->step},
          {"checkpoint", (folder.checkpoints() / artifacts::kBest).string()}};
}

Json describe_test(const pipeline::RunReport& report) {
  if (!report.test) return nullptr;
  const pipeline::TestResults& test = *report.test;
  return {{"weights", test.monitor.empty() ? "last" : "best"},
          {"monitor", test.monitor.empty() ? Json() : Json(test.monitor)},
          {"epoch", test.epoch},
          {"step", test.step},
          {"metrics", to_json({test.metrics.begin(), test.metrics.end()})}};
}

// docs/reference/run_file.md describes the lines.
class JsonOutput final : public RunOutput {
 public:
  void open(const pipeline::Training& training, const RecordedRun& recorded,
            const artifacts::FoundCheckpoint* resumed_from) override {
    print({{"event", "run"},
           {"name", training.plan->run.name},
           {"folder", recorded.folder.string()},
           {"model", training.model.component().schema.id},
           {"epochs", training.plan->train.epochs},
           {"samples", training.train->feed.sampler().size()},
           {"resumed_from", describe_start(resumed_from)}});
  }

  void say(const std::string& sentence) override { print({{"event", "message"}, {"message", sentence}}); }

  void add(const artifacts::HistoryLine& line) override {
    write_output_text(artifacts::format_history_line(line));
    std::fflush(stdout);
  }

  void close(const pipeline::RunReport& report, const pipeline::Training& training,
             const RecordedRun& recorded) override {
    std::map<std::string, double> stages;
    for (const pipeline::StageSeconds& stage : report.stages) stages[stage.name] = stage.seconds;
    print({{"event", "end"},
           {"status", report.end == pipeline::RunReport::End::finished ? "finished" : "stopped"},
           {"reason", report.reason},
           {"epoch", report.state.epoch},
           {"step", report.state.step},
           {"time_s", report.state.time_s},
           {"metrics", to_json(report.state.metrics)},
           {"stages", to_json(stages)},
           {"host_waits", report.state.host_waits},
           {"graph_replays", report.state.graph_replays},
           {"peak_bytes", artifacts::read_peak_memory()},
           {"checkpoint", recorded.last_checkpoint.string()},
           {"best", describe_best(report, training, artifacts::RunFolder{recorded.folder})},
           {"test", describe_test(report)}});
  }

 private:
  static void print(const Json& line) {
    write_output_json(line, -1);
    std::fflush(stdout);
  }
};

}  // namespace

std::unique_ptr<RunOutput> make_json_output() { return std::make_unique<JsonOutput>(); }

}  // namespace tenon::reporting
