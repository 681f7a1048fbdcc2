#include "tests/reporting/written_run.h"

#include <fstream>

#include "tests/test_folder.h"

namespace tenon::reporting {

std::string write_line(const std::string& event, int step, const std::string& metrics, double time_s) {
  return "{\"event\": \"" + event + "\", \"epoch\": 1, \"step\": " + std::to_string(step) +
         ", \"time_s\": " + std::to_string(time_s) + (metrics.empty() ? "" : ", " + metrics) + "}";
}

ReadRun write_run(const WrittenRun& run) {
  const std::filesystem::path folder = test_folder() / run.name;
  std::filesystem::create_directories(folder / "checkpoints");
  std::ofstream(folder / "plan.toml") << run.plan;
  std::ofstream(folder / "run.json") << run.record;
  std::ofstream history(folder / "history.jsonl");
  for (const std::string& line : run.history) history << line << "\n";
  history.close();
  return ReadRun(folder);
}

}  // namespace tenon::reporting
