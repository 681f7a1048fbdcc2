#include "framework/artifacts/checkpoint/checkpoint.h"

#include <doctest/doctest.h>

#include <future>

#include "example_checkpoint.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/weights_metadata.h"
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
    write_checkpoint_part(scratch.path(), {7, number, 2, name_training_part(2)}, second.views);
    auto written = std::async(std::launch::async, [&] {
      return store.write(contents_of(model, {3, number, &is_abandoned}));
    });
    write_checkpoint_part(scratch.path(), {7, number, 1, name_training_part(1)}, first.views);
    const std::filesystem::path path = written.get();
    CHECK(list_names(path) == Names{"manifest.json", "manifest.xxh128", "model.safetensors", "training.safetensors",
                                    "training.rank1.safetensors", "training.rank2.safetensors"});
    CHECK(list_names(scratch.path()) == Names{"latest", "step-00000007"});
    const CheckpointManifest manifest = verify_checkpoint(path);
    REQUIRE(manifest.files.size() == 4);
    const SafetensorsFile part(path / "training.rank2.safetensors");
    CHECK(*reinterpret_cast<const float*>(part.find("fc.weight")->data) == 2.5f);
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
  write_checkpoint_part(scratch.path(), {7, 0, 1, name_training_part(1)}, {});
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
    write_checkpoint_part(scratch.path(), {7, 0, 1, name_training_part(1)}, model.views);
    write_checkpoint_part(scratch.path(), {7, 1, 2, name_training_part(2)}, model.views);  // of a later checkpoint
    CHECK(contains(find_error(support::ErrorKind::checkpoint,
                              [&] {
                                store.write(contents_of(model, {3, 0, &is_abandoned}));
                              }),
                   "step-00000007: rank 2 has not written training.rank2.safetensors"));
    for (const std::string& name : list_names(scratch.path())) CHECK(is_temporary_name(name));
  }
  const CheckpointStore next(scratch.path(), {3});  // removes what the failed run left
  CHECK(list_names(scratch.path()).empty());
}

TEST_CASE("a model that is divided over the ranks has a file for each of them, and an index") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {3});
  const ExampleModel model(7);
  const std::span<const TensorView> all(model.views);
  const std::atomic<bool> is_abandoned{false};
  write_checkpoint_part(scratch.path(), {7, 0, 1, name_model_part(1, 2)}, all.subspan(1));
  write_checkpoint_part(scratch.path(), {7, 0, 1, name_training_part(1)}, {});
  CheckpointContents contents = contents_of(model, {2, 0, &is_abandoned, true});
  contents.model = all.first(1);
  contents.class_names = {{"label", {"cat", "dog"}}};
  contents.model_sizes = {{"classes", 2}};
  const std::filesystem::path path = store.write(contents);
  CHECK(list_names(path) == Names{"manifest.json", "manifest.xxh128", "model-00001-of-00002.safetensors",
                                  "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                                  "training.rank1.safetensors", "training.safetensors"});
  verify_checkpoint(path);
  const std::filesystem::path index = find_model_file(path);
  CHECK(index == path / kModelIndex);
  const std::vector<std::filesystem::path> files = list_weight_files(index);
  CHECK(list_weight_files(path) == files);
  REQUIRE(files.size() == 2);
  uint64_t bytes = 0;
  size_t found = 0;
  for (const std::filesystem::path& file : files) {
    const SafetensorsFile part(file);
    found += part.tensors().size();
    for (const TensorView& tensor : part.tensors()) {
      CHECK(read_model_index(index).at(tensor.name) == file.filename());
      bytes += tensor.bytes;
    }
  }
  CHECK(found == all.size());
  CHECK(contains(read_all(index), "\"total_size\": " + std::to_string(bytes)));
  CHECK(read_class_names(index) == contents.class_names);
  CHECK(read_model_sizes(path) == contents.model_sizes);

  verify_checkpoint_file(index);
  std::filesystem::resize_file(files[1], std::filesystem::file_size(files[1]) - 1);
  CHECK(contains(find_error(support::ErrorKind::checkpoint, [&] { verify_checkpoint_file(index); }),
                 "model-00002-of-00002.safetensors: has "));
}

TEST_CASE("a model that is too large for one file has several") {
  const Scratch scratch;
  CheckpointStore store(scratch.path(), {3});
  const ExampleModel model(7);
  CheckpointContents contents = contents_of(model, {});
  contents.most_model_bytes = 1;  // less than any tensor
  const std::filesystem::path path = store.write(contents);
  const std::vector<std::filesystem::path> files = list_weight_files(find_model_file(path));
  REQUIRE(files.size() == model.views.size());
  for (size_t i = 0; i < files.size(); ++i) {
    const SafetensorsFile part(files[i]);
    REQUIRE(part.tensors().size() == 1);
    CHECK(part.tensors()[0].name == model.views[i].name);
  }
  verify_checkpoint(path);
  const auto parts = divide_model(model.views, model.views[0].bytes);
  CHECK(parts.front().size() == 1);
  CHECK(divide_model({}, 1).size() == 1);
}

TEST_CASE("only training.rank<N>.safetensors is a part") {
  CHECK(name_training_part(12) == "training.rank12.safetensors");
  CHECK(is_training_part("training.rank12.safetensors"));
  for (const char* name : {"training.safetensors", "training.rank.safetensors", "training.rank1x.safetensors",
                           "training.rank1.txt", "model.safetensors", "training.rank.safetensor"})
    CHECK_FALSE(is_training_part(name));
}

}  // namespace tenon::artifacts
