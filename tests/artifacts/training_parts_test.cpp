#include "framework/artifacts/checkpoint/training_parts.h"

#include <doctest/doctest.h>

#include <future>

#include "example_checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/durable_file.h"
#include "scratch.h"

namespace tenon::artifacts {

using Names = std::set<std::string>;

namespace {

CheckpointContents contents_of(const ExampleModel& model, const AwaitedParts& parts) {
  return {.epoch = 1,
          .step = 7,
          .metrics = {},
          .model = model.views,
          .training = model.views,
          .state = {{"step", 7}},
          .parts = parts};
}

}  // namespace

TEST_CASE("a checkpoint has the parts of the training state that other ranks write") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {3});
  const ExampleModel model(7), first(1), second(2);
  const std::atomic<bool> is_abandoned{false};
  for (int64_t number = 0; number < 2; ++number) {  // the second checkpoint replaces the first
    write_training_part(scratch.path(), {7, number, 2}, second.views);
    auto written = std::async(std::launch::async, [&] {
      return store.write(contents_of(model, {3, number, &is_abandoned}));
    });
    write_training_part(scratch.path(), {7, number, 1}, first.views);
    const std::filesystem::path path = written.get();
    CHECK(list_names(path) == Names{"manifest.json", "manifest.xxh128", "model.safetensors", "training.safetensors",
                                    "training.rank1.safetensors", "training.rank2.safetensors"});
    CHECK(list_names(scratch.path()) == Names{"latest", "step-00000007"});
    const CheckpointManifest manifest = verify_checkpoint(path);
    REQUIRE(manifest.files.size() == 4);
    const SafetensorsFile part(path / "training.rank2.safetensors");
    CHECK(*reinterpret_cast<const float*>(part.find("fc.weight")->data) == 2.5f);
    // Versions that do not know the parts must refuse the checkpoint.
    CHECK(contains(read_all(path / "manifest.json"), "\"format_version\": 2,"));
  }
  std::filesystem::remove(scratch / "step-00000007/training.rank1.safetensors");
  CHECK(contains(find_error(support::ErrorKind::checkpoint, [&] { verify_checkpoint(scratch / "step-00000007"); }),
                 "training.rank1.safetensors: is missing; the checkpoint is not complete"));
}

TEST_CASE("a rank without tensors writes an empty part") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {3});
  const ExampleModel model(7);
  const std::atomic<bool> is_abandoned{false};
  write_training_part(scratch.path(), {7, 0, 1}, {});
  const std::filesystem::path path = store.write(contents_of(model, {2, 0, &is_abandoned}));
  CHECK(SafetensorsFile(path / "training.rank1.safetensors").tensors().empty());
  verify_checkpoint(path);
}

TEST_CASE("a checkpoint without the parts of other ranks is removed, and the rank is named") {
  const Scratch scratch;
  const ExampleModel model(7);
  const std::atomic<bool> is_abandoned{true};
  {
    CheckpointStore store(scratch.path(), {3});
    write_training_part(scratch.path(), {7, 0, 1}, model.views);
    write_training_part(scratch.path(), {7, 1, 2}, model.views);  // of a later checkpoint
    CHECK(contains(find_error(support::ErrorKind::checkpoint,
                              [&] {
                                store.write(contents_of(model, {3, 0, &is_abandoned}));
                              }),
                   "step-00000007: rank 2 has not written its part of the training state"));
    for (const std::string& name : list_names(scratch.path())) CHECK(is_temporary_name(name));
  }
  const CheckpointStore next(scratch.path(), {3});  // removes what the failed run left
  CHECK(list_names(scratch.path()).empty());
}

TEST_CASE("only training.rank<N>.safetensors is a part") {
  CHECK(name_training_part(12) == "training.rank12.safetensors");
  CHECK(is_training_part("training.rank12.safetensors"));
  for (const char* name : {"training.safetensors", "training.rank.safetensors", "training.rank1x.safetensors",
                           "training.rank1.txt", "model.safetensors", "training.rank.safetensor"})
    CHECK_FALSE(is_training_part(name));
}

}  // namespace tenon::artifacts
