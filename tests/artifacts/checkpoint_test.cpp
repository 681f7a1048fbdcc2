#include "framework/artifacts/checkpoint/checkpoint.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/statvfs.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "example_checkpoint.h"
#include "file_size_limit.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/durable_file.h"
#include "scratch.h"

namespace {

// In KiB: what statvfs() reports instead of the free space of the disk.
std::optional<uint64_t> simulated_free_space;

}  // namespace

// The program calls this function instead of the system's.
extern "C" int statvfs(const char* path, struct statvfs* disk) noexcept {
  using Call = int(const char*, struct statvfs*);
  static auto* const real = reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, "statvfs"));
  const int result = real(path, disk);
  if (result != 0 || !simulated_free_space) return result;
  disk->f_frsize = 1024;
  disk->f_bavail = *simulated_free_space;
  return 0;
}

namespace tenon::artifacts {

using support::ErrorKind;
using Names = std::set<std::string>;

namespace {

std::string verify(const std::filesystem::path& checkpoint) {
  return find_error(ErrorKind::checkpoint, [&] { verify_checkpoint(checkpoint); });
}

float read_first(const std::filesystem::path& checkpoint) {
  const SafetensorsFile file(checkpoint / kModelFile);
  float value;
  std::memcpy(&value, file.find("fc.weight")->data, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a checkpoint is read back with its tensors, counters and metrics") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {3});
  const ExampleModel model(120);
  const NamedMetrics metrics = {{"train/loss", 0.1}, {"a", std::nan("")}, {"b", -INFINITY}};
  const auto path = store.write({.epoch = 2,
                                 .step = 120,
                                 .metrics = metrics,
                                 .model = model.views,
                                 .training = model.views,
                                 .state = {{"time_s", 0.1}, {"norm", std::nan("")}},
                                 .texts = {{"plan.toml", "[run]\n"}}});
  CHECK(path == scratch / "step-00000120");
  CHECK(list_names(path) ==
        Names{"manifest.json", "manifest.xxh128", "model.safetensors", "plan.toml", "training.safetensors"});
  const CheckpointManifest manifest = verify_checkpoint(path);
  CHECK(manifest.epoch == 2);
  CHECK(manifest.step == 120);
  REQUIRE(manifest.metrics.size() == 3);
  CHECK(std::isnan(manifest.metrics[0].second));
  CHECK(manifest.metrics[1] == std::pair<std::string, double>("b", -INFINITY));
  CHECK(manifest.metrics[2] == std::pair<std::string, double>("train/loss", 0.1));
  CHECK(manifest.state.size() == 2);
  CHECK(manifest.state.at("time_s") == 0.1);
  CHECK(std::isnan(manifest.state.at("norm")));
  REQUIRE(manifest.files.size() == 3);
  CHECK(manifest.files[0].bytes == std::filesystem::file_size(path / kModelFile));
  CHECK(read_first(path) == 120.5f);
  CHECK(SafetensorsFile(path / kModelFile).metadata() == Metadata{{"format", "pt"}});
}

TEST_CASE("latest is a relative link to the newest, so that the folder can be moved") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "a");
  CHECK_FALSE(find_linked_checkpoint(scratch / "a", kLatest));
  CheckpointStore store(scratch / "a", {3});
  write_example(store, 1);
  write_example(store, 2);
  CHECK(std::filesystem::read_symlink(scratch / "a/latest") == "step-00000002");
  std::filesystem::rename(scratch / "a", scratch / "b");
  CHECK(verify_checkpoint(find_linked_checkpoint(scratch / "b", kLatest).value()).step == 2);
}

TEST_CASE("latest is fixed after a crash between writing a checkpoint and its link") {
  const Scratch scratch;
  {
    CheckpointStore store(scratch.path(), {3});
    write_example(store, 1);
    write_example(store, 2);
  }
  std::filesystem::remove(scratch / "latest");
  std::filesystem::create_directory_symlink("step-00000001", scratch / "latest");
  const CheckpointStore store(scratch.path(), {3});
  CHECK(std::filesystem::read_symlink(scratch / "latest") == "step-00000002");
}

TEST_CASE("only the newest checkpoints are kept") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {2});
  for (const int64_t step : {9, 10, 99'999'999, 100'000'000}) write_example(store, step);
  CHECK(list_names(scratch.path()) == Names{"latest", "step-100000000", "step-99999999"});
}

TEST_CASE("a run that resumes removes what a killed run left, but not the checkpoint that it resumes from") {
  const Scratch scratch;
  {
    CheckpointStore store(scratch.path(), {4});
    for (const int64_t step : {1, 2, 3, 4}) write_example(store, step);
  }
  const CheckpointStore store(scratch.path(), {1}, scratch / "step-00000003");
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000003", "step-00000004"});
}

// Also for root: a link to itself.
void make_unreadable(const std::filesystem::path& file) {
  std::filesystem::remove(file);
  std::filesystem::create_symlink(file.filename(), file);
}

TEST_CASE("the best checkpoints are kept in addition to the newest, and best is a link to the first of them") {
  const Scratch scratch;
  const auto write = [](CheckpointStore& store, int64_t step, double loss) {
    const ExampleModel model(step);
    store.write({.epoch = 1,
                 .step = step,
                 .metrics = {{"validation/loss", loss}, {"validation/accuracy", 0.1 * loss}},
                 .model = model.views,
                 .training = model.views,
                 .state = {{"step", step}}});
  };
  const auto best = [&] { return std::filesystem::read_symlink(scratch / "best").string(); };
  {
    CheckpointStore store(scratch.path(), {1, "validation/loss", false, 2});
    write(store, 1, std::nan(""));
    CHECK(list_names(scratch.path()) == Names{"latest", "step-00000001"});
    write(store, 2, 0.5);
    CHECK(best() == "step-00000002");
    write(store, 3, 0.7);
    write(store, 4, 0.7);
    CHECK(list_names(scratch.path()) == Names{"best", "latest", "step-00000002", "step-00000003", "step-00000004"});
    write(store, 5, 0.4);
    CHECK(best() == "step-00000005");
    write_example(store, 6);  // without the metric
    CHECK(list_names(scratch.path()) == Names{"best", "latest", "step-00000002", "step-00000005", "step-00000006"});
  }
  SUBCASE("a crash between the checkpoint and the link") {
    std::filesystem::remove(scratch / "best");
    const CheckpointStore store(scratch.path(), {1, "validation/loss"});
    CHECK(best() == "step-00000005");
  }
  SUBCASE("larger values can be better") {
    const CheckpointStore store(scratch.path(), {1, "validation/accuracy", true});
    CHECK(best() == "step-00000002");
  }
  SUBCASE("a checkpoint with a damaged manifest is ignored") {
    std::ofstream(scratch / "step-00000005/manifest.json") << "{";
    CheckpointStore store(scratch.path(), {1, "validation/loss", false, 1});
    CHECK(best() == "step-00000002");
    write(store, 7, 0.6);
    CHECK(list_names(scratch.path()) == Names{"best", "latest", "step-00000002", "step-00000007"});
  }
  SUBCASE("a checkpoint with a manifest that cannot be read is never removed") {
    const std::filesystem::path manifest = scratch / "step-00000005/manifest.json";
    const Names before = list_names(scratch.path());
    SUBCASE("by a store that wrote or read it before") {
      CheckpointStore store(scratch.path(), {1, "validation/loss", false, 1});
      make_unreadable(manifest);
      write(store, 7, 0.6);
      CHECK(best() == "step-00000005");
      CHECK(list_names(scratch.path()) == Names{"best", "latest", "step-00000005", "step-00000007"});
    }
    SUBCASE("by a store that is opened afterwards") {
      make_unreadable(manifest);
      const auto open = [&] { CheckpointStore(scratch.path(), {1, "validation/loss"}, scratch / "step-00000006"); };
      CHECK(contains(find_error(ErrorKind::checkpoint, open), "step-00000005/manifest.json: "));
      CHECK(list_names(scratch.path()) == before);
    }
  }
}

TEST_CASE("a checkpoint with only weights does not replace one that a run can resume from") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  write_example(store, 4);
  const ExampleModel model(5);
  store.write({.epoch = 1, .step = 4, .metrics = {}, .model = model.views});
  CHECK(verify_checkpoint(scratch / "step-00000004").state.at("step") == 4);
  store.write({.epoch = 1, .step = 5, .metrics = {}, .model = model.views});
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000004", "step-00000005"});
  write_example(store, 6);
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000006"});
}

TEST_CASE("the target of latest is never removed") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  write_example(store, 50);
  write_example(store, 10);  // as after resuming from an earlier step
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000010", "step-00000050"});
  CHECK(std::filesystem::read_symlink(scratch / "latest") == "step-00000010");
}

TEST_CASE("entries that are not checkpoints are unchanged") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  for (const std::string name : {"step-1", "step-0000000a", "step-00000001.bak", "mine"}) {
    std::filesystem::create_directory(scratch / name);
  }
  write_example(store, 1);
  write_example(store, 2);
  CHECK(list_names(scratch.path()) ==
        Names{"latest", "mine", "step-00000001.bak", "step-00000002", "step-0000000a", "step-1"});
}

TEST_CASE("a checkpoint of the same step is replaced") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {2});
  write_example(store, 5, 10);
  const auto path = write_example(store, 5, 20);
  CHECK(SafetensorsFile(path / kModelFile).find("fc.weight")->shape == std::vector<int64_t>{20});
  CHECK(verify(path) == "accepted");
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000005"});
}

TEST_CASE("equal contents make equal checkpoints") {
  const Scratch a, b;
  for (const Scratch* scratch : {&a, &b}) {
    CheckpointStore store(scratch->path(), {1});
    write_example(store, 1);
  }
  for (const auto& name : list_names(a / "step-00000001")) {
    CHECK(read_all(a / "step-00000001" / name) == read_all(b / "step-00000001" / name));
  }
}

TEST_CASE("incomplete files of a crash are removed when the store is opened") {
  const Scratch scratch;
  {
    CheckpointStore store(scratch.path(), {2});
    write_example(store, 1);
  }
  const auto leftover = make_temporary_path(scratch / "step-00000002");
  std::filesystem::create_directory(leftover);
  write_all(leftover / kModelFile, "half");
  CheckpointStore store(scratch.path(), {2});
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000001"});
}

TEST_CASE("a failed write leaves the earlier checkpoints, and the store remains usable") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  write_example(store, 1);
  for (const int64_t step : {1, 2}) {
    std::string message;
    {
      const FileSizeLimit limit(5000);
      message = find_error(ErrorKind::system, [&] { write_example(store, step, 100'000); });
    }
    CHECK(contains(message, "model.safetensors: cannot be written: File too large"));
    CHECK(list_names(scratch.path()) == Names{"latest", "step-00000001"});
    CHECK(verify(scratch / "step-00000001") == "accepted");
  }
  write_example(store, 2);
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000002"});
}

TEST_CASE("a checkpoint that does not fit into the free space is refused before it is written") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  write_example(store, 1);
  const ExampleModel model(2, 262'144);
  simulated_free_space = 12;
  const std::string message = find_error(ErrorKind::system, [&] {
    store.write({.epoch = 1, .step = 2, .metrics = {}, .model = model.views, .state = {{"step", 2}}});
  });
  simulated_free_space.reset();
  CHECK(message == scratch.path().string() +
                       ": a checkpoint of 1.0 MiB does not fit into 12.0 KiB of free space: No space left on device; "
                       "free some space, or choose another run.output_dir (for host pack: another --output)");
  CHECK(list_names(scratch.path()) == Names{"latest", "step-00000001"});
}

TEST_CASE("a file that is missing, longer, shorter or not a file is named") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  const auto path = write_example(store, 1);
  for (const std::string name :
       {"manifest.json", "manifest.xxh128", "model.safetensors", "plan.toml", "training.safetensors"}) {
    const std::string whole = read_all(path / name);
    std::filesystem::remove(path / name);
    CHECK(contains(verify(path), name + ": is missing"));
    std::filesystem::create_directory(path / name);
    CHECK(contains(verify(path), name + ": is not a file"));
    std::filesystem::remove(path / name);
    for (const size_t size : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
      write_all(path / name, whole.substr(0, size));
      CHECK(contains(verify(path), name.starts_with("manifest") ? "manifest.json: its XXH128 is " : name + ": has "));
    }
    write_all(path / name, whole + "\n");
    CHECK(contains(verify(path), name.starts_with("manifest") ? "manifest.json: its XXH128 is " : name + ": has "));
    write_all(path / name, whole);
    CHECK(verify(path) == "accepted");
  }
  CHECK(contains(verify(scratch / "step-00000009"), "is not a folder; expected a checkpoint"));
}

TEST_CASE("each of two hundred flipped bits is detected, with the name of the file") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {1});
  const auto path = write_example(store, 1);
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    // Each file gets a fifth of the rounds, independent of its size.
    const std::string name = std::vector<std::string>{"manifest.json", "manifest.xxh128", "model.safetensors",
                                                      "plan.toml", "training.safetensors"}[round % 5];
    const std::string whole = read_all(path / name);
    std::string damaged = whole;
    const size_t place = random() % whole.size();
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << random() % 8));
    CAPTURE(name);
    CAPTURE(place);
    write_all(path / name, damaged);
    CHECK(contains(verify(path), name));
    write_all(path / name, whole);
  }
  CHECK(verify(path) == "accepted");
}

}  // namespace tenon::artifacts
