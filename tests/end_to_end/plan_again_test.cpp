#include <doctest/doctest.h>

#include <algorithm>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

std::vector<fs::path> list_run_folders(const fs::path& folder) {
  std::vector<fs::path> runs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) runs.push_back(entry.path());
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace

TEST_CASE("plan.toml repeats the run from another folder") {
  const fs::path output = make_empty_folder("planned");
  const fs::path plugin = TENON_BINARY_DIR "/tests/fixtures/plugins/portable_cnn";
  // Both paths are relative to the working directory, which is different the second time.
  require_success(run_host({"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir",
                            fs::relative(plugin, tenon::test_folder()).string(), "--set", "run.output_dir=planned",
                            "--set", "model={use=\"portable_cnn\"}", "--set", "train={steps=2}"}));
  const fs::path plan = find_run_folder(output, "digits") / "plan.toml";
  require_success(run_host({"--config", plan.string()}, "env -C /"));

  const std::vector<fs::path> runs = list_run_folders(output / "digits");
  REQUIRE(runs.size() == 2);
  for (const char* file : {"plan.toml", "checkpoints/latest/model.safetensors"}) {
    CAPTURE(file);
    CHECK((read_file(runs[0] / file) == read_file(runs[1] / file)));
  }
}
