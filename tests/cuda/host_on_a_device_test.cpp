// Tests the host with a library for a simulated device in host memory.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace tenon::end_to_end {
namespace {

namespace fs = std::filesystem;

// Creates an install prefix with the host, its engine, the bundled plugins and the simulated libtenon_cuda.so. Returns
// the argument for run_program().
std::string install_with_simulated_library() {
  const fs::path prefix = make_empty_folder("installed");
  const fs::path built = TENON_BINARY_DIR;
  fs::create_directories(prefix / "bin");
  const fs::path engine = ENGINE;
  const fs::path folder = prefix / "lib/tenon" / engine.parent_path().filename();
  fs::create_directories(folder);
  fs::create_hard_link(built / "bin/host",
                       prefix / "bin/host");  // with a symbolic link the host would find the original folder
  fs::create_symlink(engine, folder / engine.filename());
  fs::create_symlink(engine.parent_path() / "libtorch.path", folder / "libtorch.path");
  fs::create_symlink(SIMULATED_LIBRARY, folder / "libtenon_cuda.so");
  fs::create_symlink(built / "plugins", prefix / "plugins");
  return fs::relative(prefix / "bin/host", built / "bin").string();
}

std::vector<std::string> arguments(const std::string& command, const std::string& device) {
  std::vector<std::string> all{"--config", TENON_SOURCE_DIR "/configs/digits.toml",
                               "--set",    "train.epochs=2",
                               "--set",    "run.output_dir=runs",
                               "--set",    "run.device=" + device,
                               "--set",    "run.name=" + device};
  if (!command.empty()) all.insert(all.begin(), command);
  return all;
}

}  // namespace

TEST_CASE("a run on a device reports it, learns, and its weights are evaluated on the device or on the CPU") {
  const std::string host = install_with_simulated_library();
  require_success(run_program(host, arguments("", "cuda")));
  const fs::path folder = find_run_folder(tenon::test_folder() / "runs", "cuda");
  const auto record = nlohmann::json::parse(read_file(folder / "run.json"));
  CHECK(record["device"] == "cuda:0");
  CHECK(record["accelerator"]["name"] == "a simulated device");
  CHECK(record["accelerator"]["compute_capability"] == "9.0");
  CHECK(record["host_waits"].get<int64_t>() > 0);
  const double accuracy = read_last_metric(folder, "validation/accuracy");
  CHECK(accuracy > 0.5);

  for (const char* device : {"cuda", "cpu"}) {
    const Outcome evaluated = require_success(run_program(
        host,
        joined(arguments("evaluate", device), {"--checkpoint", (folder / "checkpoints/latest").string(), "--json"})));
    const auto metrics = nlohmann::json::parse(evaluated.output)["sets"][0]["metrics"];
    CHECK(metrics["validation/accuracy"].get<double>() == doctest::Approx(accuracy).epsilon(0.01));
  }
}

TEST_CASE("predictions on a device are written") {
  const std::string host = install_with_simulated_library();
  REQUIRE(run_program(host, joined(arguments("", "cuda"), {"--limit-batches", "1"})).exit_code == 0);
  const fs::path folder = find_run_folder(tenon::test_folder() / "runs", "cuda");
  const Outcome outcome = require_success(
      run_program(host, joined(arguments("predict", "cuda"), {"--checkpoint", (folder / "checkpoints/latest").string(),
                                                              "--data", "validation", "--output", "predictions.csv"})));
  CHECK(outcome.output.find("359 samples") != std::string::npos);
}

TEST_CASE("a missing device ends a run with exit code 2") {
  check_errors(run_program(install_with_simulated_library(), arguments("", "cuda:1")), 2,
               {"run.device is \"cuda:1\"; found one CUDA device, cuda:0"});
}

}  // namespace tenon::end_to_end
