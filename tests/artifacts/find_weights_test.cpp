#include "framework/artifacts/run_folder/find_checkpoint.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

#include <fstream>
#include <string>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::artifacts {
namespace {

namespace fs = std::filesystem;

fs::path make_empty_folder(const std::string& name) {
  const fs::path folder = tenon::test_folder() / "weights" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// Creates a run folder with a checkpoint of this step, or without a checkpoint if the step is 0.
fs::path make_run(const fs::path& output, const std::string& time, int64_t step) {
  const fs::path run = output / "digits" / time;
  fs::create_directories(run / "checkpoints");
  if (step > 0) {
    const float value = 1;
    const TensorView weight{"w", TENON_FLOAT32, {1}, reinterpret_cast<const std::byte*>(&value), sizeof value};
    CheckpointStore(run / "checkpoints", {3}).write({2, step, {}, std::span(&weight, 1)});
  }
  return run;
}

std::string failure_of(const std::string& what, const fs::path& output) {
  return find_error(support::ErrorKind::checkpoint, [&] { find_weights(what, output, "digits"); });
}

}  // namespace

TEST_CASE("runs are listed from new to old, and other folders are ignored") {
  const fs::path output = make_empty_folder("listed");
  for (const char* name :
       {"2026-11-21T11-30-05", "2026-11-21T11-30-05-2", "2026-11-21T11-30-05-10", "2025-12-31T23-59-59", "notes",
        "2026-11-21T11-30-05-", "2026-11-21T11-30-05-x", "2026-11-21T11-30-05.bak"})
    fs::create_directories(output / "digits" / name);
  std::vector<std::string> names;
  for (const fs::path& run : list_runs(output, "digits")) names.push_back(run.filename().string());
  CHECK(names == std::vector<std::string>{"2026-11-21T11-30-05-10", "2026-11-21T11-30-05-2", "2026-11-21T11-30-05",
                                          "2025-12-31T23-59-59"});
  CHECK(list_runs(output, "other").empty());
}

TEST_CASE("latest is the newest checkpoint of the newest run that has one") {
  const fs::path output = make_empty_folder("latest");
  make_run(output, "2026-11-21T11-30-05", 7);
  const fs::path run = make_run(output, "2026-11-21T11-30-06", 20);
  make_run(output, "2026-11-21T11-30-07", 0);
  const FoundWeights found = find_weights("latest", output, "digits");
  CHECK(found.checkpoint == fs::canonical(run / "checkpoints/step-00000020"));
  CHECK(found.file == found.checkpoint / "model.safetensors");
  CHECK(found.step == 20);
  CHECK(found.epoch == 2);
  CHECK(find_weights(run.string(), output, "digits").file == found.file);
  CHECK(find_weights(found.checkpoint.string(), output, "digits").file == found.file);
  const FoundWeights file = find_weights(found.file.string(), output, "digits");
  CHECK(file.file == found.file);
  CHECK(file.checkpoint.empty());
}

TEST_CASE("a folder of runs stands for its newest run with a checkpoint") {
  const fs::path output = make_empty_folder("of_runs");
  make_run(output, "2026-11-21T11-30-05", 7);
  const fs::path run = make_run(output, "2026-11-21T11-30-06", 20);
  make_run(output, "2026-11-21T11-30-07", 0);
  const fs::path expected = fs::canonical(run / "checkpoints/step-00000020/model.safetensors");
  for (const fs::path& path : {output / "digits", output / "digits/", run / "checkpoints", run})
    CHECK(find_weights(path.string(), "", "other").file == expected);
  CHECK(find_run(output) == output);
  CHECK(find_run(output / "nowhere") == output / "nowhere");
}

TEST_CASE("a path without weights is suggested in the way that works") {
  const fs::path output = make_empty_folder("suggested");
  const fs::path run = make_run(output, "2026-11-21T11-30-05", 7);
  const auto suggestion = [&](const std::string& what) {
    const std::string message = failure_of(what, output);
    const size_t begin = message.find("; did you mean ");
    return begin == message.npos ? message : message.substr(begin + 2);
  };
  const std::string digits = (output / "digits").string();
  CHECK(suggestion("lates") == "did you mean latest?");
  CHECK(suggestion("digits") == "did you mean " + digits + "?");
  CHECK(suggestion(output.string()) == "did you mean " + digits + "?");
  CHECK(suggestion((output / "digit").string()) == "did you mean " + digits + "?");
  CHECK(suggestion((run / "checkpoints/step-7").string()) ==
        "did you mean " + (run / "checkpoints/step-00000007").string() + "?");
  // A model in several files.
  const fs::path checkpoint = run / "checkpoints/step-00000007";
  fs::rename(checkpoint / kModelFile, checkpoint / name_model_part(0, 1));
  std::ofstream(checkpoint / kModelIndex) << format_model_index({{"w", name_model_part(0, 1)}}, 4);
  CHECK(suggestion((checkpoint / kModelFile).string()) == "did you mean " + (checkpoint / kModelIndex).string() + "?");
}

TEST_CASE("without weights the error states what was expected") {
  const fs::path output = make_empty_folder("none");
  CHECK(failure_of("latest", output).find("digits: no run found; train first, or pass a checkpoint") !=
        std::string::npos);
  const fs::path run = make_run(output, "2026-11-21T11-30-07", 0);
  CHECK(failure_of("latest", output).find("none of the runs has a checkpoint") != std::string::npos);
  CHECK(failure_of(run.string(), output).find("the run has no checkpoint") != std::string::npos);
  CHECK(failure_of(output.string(), output).find("is a folder without manifest.json; expected") != std::string::npos);
  CHECK(failure_of((output / "no.safetensors").string(), output).find("does not exist; expected \"latest\"") !=
        std::string::npos);
}

TEST_CASE("a damaged checkpoint is refused") {
  const fs::path output = make_empty_folder("damaged");
  const fs::path run = make_run(output, "2026-11-21T11-30-05", 7);
  std::ofstream(run / "checkpoints/latest/model.safetensors", std::ios::app) << "x";
  CHECK(failure_of("latest", output).find("model.safetensors: has ") != std::string::npos);
}

}  // namespace tenon::artifacts
