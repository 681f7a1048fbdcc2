#include "framework/artifacts/checkpoint/inspect_checkpoint.h"

#include <doctest/doctest.h>

#include "example_checkpoint.h"
#include "scratch.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;
using support::ErrorKind;

namespace {

// Creates a run folder with checkpoints of these steps.
fs::path make_run(const Scratch& scratch, const std::vector<int64_t>& steps) {
  const fs::path run = scratch / "run";
  fs::create_directories(run / "checkpoints");
  CheckpointStore store(run / "checkpoints", {100});
  for (const int64_t step : steps) write_example(store, step);
  return run;
}

void damage(const fs::path& file) {
  std::string bytes = read_all(file);
  bytes.back() = static_cast<char>(~bytes.back());
  write_all(file, bytes);
}

}  // namespace

TEST_CASE("the checkpoints of a run are listed from new to old, and other entries are ignored") {
  const Scratch scratch;
  const fs::path folder = make_run(scratch, {9, 123456789, 20}) / "checkpoints";
  fs::create_directories(folder / "step-7x");
  fs::create_directories(folder / ".step-00000030.tmp-1-1");
  write_all(folder / "step-00000040", "a file");
  CHECK(list_checkpoint_folders(folder) ==
        std::vector<fs::path>{folder / "step-123456789", folder / "step-00000020", folder / "step-00000009"});
  CHECK(list_checkpoint_folders(scratch / "nowhere").empty());
}

TEST_CASE("for a run the newest checkpoint is used, also without its link") {
  const Scratch scratch;
  const fs::path run = make_run(scratch, {9, 20});
  const fs::path newest = run / "checkpoints/step-00000020";
  CHECK(find_inspected(run) == fs::canonical(newest));
  CHECK(find_inspected(newest) == newest);
  CHECK(find_inspected(newest / "model.safetensors") == newest / "model.safetensors");
  fs::remove(run / "checkpoints/latest");
  CHECK(find_inspected(run) == newest);
  fs::remove_all(run / "checkpoints");
  fs::create_directories(run / "checkpoints");
  CHECK(contains(find_error(ErrorKind::checkpoint, [&] { find_inspected(run); }), "the run has no checkpoint"));
  CHECK(contains(find_error(ErrorKind::checkpoint, [&] { find_inspected(run / "x"); }), "does not exist; expected"));
}

TEST_CASE("the manifest of a damaged checkpoint can be read, and damage is described per file") {
  const Scratch scratch;
  const fs::path checkpoint = make_run(scratch, {20}) / "checkpoints/step-00000020";
  damage(checkpoint / "model.safetensors");
  const CheckpointManifest manifest = read_manifest(checkpoint);
  CHECK(manifest.step == 20);
  REQUIRE(manifest.files.size() == 3);
  CHECK(contains(find_damage(checkpoint, manifest.files[0]).value_or(""), "its XXH128 is "));
  write_all(checkpoint / "model.safetensors", "short");
  CHECK(contains(find_damage(checkpoint, manifest.files[0]).value_or(""), "has 5 bytes; expected "));
  fs::remove(checkpoint / "model.safetensors");
  CHECK(find_damage(checkpoint, manifest.files[0]).value_or("").starts_with("is missing"));
  fs::remove(checkpoint / "manifest.json");
  CHECK(contains(find_error(ErrorKind::checkpoint, [&] { read_manifest(checkpoint); }), "manifest.json: is missing"));
}

TEST_CASE("the fallback of a damaged checkpoint is the newest other intact one") {
  const Scratch scratch;
  const fs::path folder = make_run(scratch, {1, 2, 3, 4}) / "checkpoints";
  CHECK(find_fallback(folder / "step-00000004") == folder / "step-00000003");
  CHECK(find_fallback(folder / "latest") == folder / "step-00000003");
  CHECK(find_fallback(folder / "step-00000002/") == folder / "step-00000004");
  damage(folder / "step-00000003/model.safetensors");
  damage(folder / "step-00000002/manifest.json");
  CHECK(find_fallback(folder / "step-00000004") == folder / "step-00000001");
  fs::remove_all(folder / "step-00000001");
  CHECK_FALSE(find_fallback(folder / "step-00000004"));
}

}  // namespace tenon::artifacts
