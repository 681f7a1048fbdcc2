// Tests the extension run_values.h with the sample log_values, which writes what it reads.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/run_values.h>

#include "framework/components/calls/host_table.h"
#include "framework/pipeline/state/stage_times.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;
namespace fs = std::filesystem;

namespace {

fs::path value_file() { return tenon::test_folder() / "values.txt"; }

std::string log_values(const std::string& more = "") {
  return "[[callback]]\nuse = \"log_values\"\nparams = { file = \"" + value_file().string() + "\" }\n" + more;
}

std::vector<std::string> read_lines(const std::string& word, bool is_first_word) {
  std::ifstream stream(value_file());
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(word + " ") == is_first_word) lines.push_back(line);
  return lines;
}

// Without the times of the steps, which the recorder keeps apart from the lines.
std::vector<std::string> logged_values() {
  std::vector<std::string> lines = read_lines("setting", false);
  std::erase_if(lines, [](const std::string& line) {
    std::istringstream words(line);
    std::string event, step, name;
    words >> event >> step >> name;
    return is_step_time(name);
  });
  return lines;
}

// The lines of the history as log_values writes them.
std::vector<std::string> print_history(const MemoryRecorder& recorder) {
  std::vector<std::string> lines;
  for (const RecordedLine& line : recorder.lines) {
    const char* const event = line.kind == LineKind::step         ? "log"
                              : line.kind == LineKind::validation ? "validation"
                              : line.kind == LineKind::epoch      ? "epoch"
                                                                  : "end";
    for (const auto& [name, value] : line.metrics) {
      std::ostringstream text;
      text.precision(17);
      text << event << ' ' << line.step << ' ' << name << ' ' << value;
      lines.push_back(text.str());
    }
  }
  return lines;
}

std::vector<std::string> list_files(const fs::path& folder) {
  const auto* table = static_cast<const tenon_run_values*>(
      tenon::components::host_table().get_extension(TENON_STRING(TENON_RUN_VALUES)));
  REQUIRE(table);
  std::vector<std::string> found;
  const std::string text = folder.string();
  const auto add = [](void* context, tenon_string path) {
    static_cast<std::vector<std::string>*>(context)->emplace_back(path.data, path.size);
  };
  const tenon_status status = table->files(tenon_make_string(text.data(), text.size()), &found, add);
  if (status != TENON_OK) found = {"status " + std::to_string(status)};
  return found;
}

}  // namespace

TEST_CASE("a callback reads the values that each event adds to the history") {
  BuiltRun run({{"log.every=\"2 steps\""}, log_values()});
  run.train();
  const std::vector<std::string> expected = print_history(run.recorder);
  REQUIRE(expected.size() > 10);
  CHECK(logged_values() == expected);
}

TEST_CASE("the values include what other callbacks log, and those of the test data at the end of the run") {
  BuiltRun run({{"log.every=\"2 steps\"", "data.validation={use='digits',params={split='test'},subset='50%'}",
                 "data.test={use='digits',params={split='test'},subset='50%-100%'}"},
                log_values("[[callback]]\nuse = \"throughput\"\nparams = { memory = false }\n")});
  run.train();
  const std::vector<std::string> values = logged_values();
  CHECK(values == print_history(run.recorder));
  const auto has = [&](const std::string& text) {
    return std::any_of(values.begin(), values.end(), [&](const auto& line) { return line.find(text) != line.npos; });
  };
  CHECK(has(" throughput/steps_per_s "));
  CHECK(has("end "));
  CHECK(has(" test/loss "));
}

TEST_CASE("a callback reads no values of an interrupted epoch, which has no line in the history") {
  BuiltRun run({{"log.every=\"1 steps\""}, log_values()});
  run.train({}, 15);
  const std::vector<std::string> values = logged_values();
  CHECK(values == print_history(run.recorder));
  for (const std::string& line : values) CHECK_FALSE(line.starts_with("epoch "));
}

TEST_CASE("a callback reads the settings of the plan") {
  BuiltRun run({{"optimizer.lr=0.25", "run.name=\"a name\""}, log_values()});
  run.train();
  const std::vector<std::string> settings = read_lines("setting", true);
  CHECK(settings.size() > 50);
  CHECK(std::find(settings.begin(), settings.end(), "setting optimizer.lr = 0.25") != settings.end());
  CHECK(std::find(settings.begin(), settings.end(), "setting run.name = a name") != settings.end());
  CHECK(std::find(settings.begin(), settings.end(), "setting callback[0].use = log_values") != settings.end());
}

TEST_CASE("the files of a run are listed with relative paths, without hidden ones") {
  const fs::path folder = tenon::test_folder() / "run";
  fs::create_directories(folder / "checkpoints/step-1");
  fs::create_directories(folder / ".hidden");
  fs::create_directory_symlink("step-1", folder / "checkpoints/best");
  for (const char* name :
       {"plan.toml", ".plan.toml.tmp-1", ".hidden/a", "checkpoints/step-1/model.safetensors", "log.txt"})
    std::ofstream(folder / name) << "text";
  CHECK(list_files(folder) == std::vector<std::string>{"checkpoints/best/model.safetensors",
                                                       "checkpoints/step-1/model.safetensors", "log.txt", "plan.toml"});
  CHECK(list_files(folder / "absent") == std::vector<std::string>{"status " + std::to_string(TENON_NOT_FOUND)});
  // A link to a folder above it ends the list.
  fs::create_directory_symlink(folder, folder / "checkpoints/step-1/above");
  CHECK(list_files(folder).size() > 4);
}
