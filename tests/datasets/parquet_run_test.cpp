// Runs on Parquet files that Hugging Face's datasets package wrote (tests/datasets/make_parquet.py).
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

const std::string kFiles = TENON_SOURCE_DIR "/tests/datasets/reference/parquet/";

fs::path write_images_run() {
  return write_file(make_empty_folder("files") / "images.toml", R"toml(
[run]
name = "images"
deterministic = true
[model]
use = "small_cnn"
params = { width = 8 }
[data]
batch_size = 4
[data.train]
use = "parquet"
[data.train.params]
path = ")toml" + kFiles + R"toml(images"
split = "train"
transforms = ["random_resized_crop(16)", "horizontal_flip()", "normalize()"]
row_group_bytes = 1
[data.validation]
like = "train"
[data.validation.params]
split = "validation"
transforms = ["resize(16)", "center_crop(16)", "normalize()"]
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
steps = 9
[optimizer]
use = "adamw"
lr = 1e-2
)toml");
}

fs::path train(const fs::path& config, const std::string& name, const std::vector<std::string>& more = {}) {
  const fs::path output = config.parent_path() / name;
  require_success(run_host(joined({"--config", config.string(), "--set", "run.output_dir=" + output.string()}, more)));
  return output;
}

}  // namespace

TEST_CASE("a folder of images trains with its class names, and equally with any number of workers") {
  const fs::path config = write_images_run();
  const fs::path one = find_run_folder(train(config, "one", {"--set", "data.workers=0"}), "images");
  CHECK(read_file(one / "plan.toml").find("label = [\"cat\", \"dog\", \"owl\"]") != std::string::npos);
  const fs::path three = find_run_folder(train(config, "three", {"--set", "data.workers=3"}), "images");
  CHECK(read_history_without_times(one) == read_history_without_times(three));
}

TEST_CASE("a run on Parquet files that stops within an epoch resumes with the same samples") {
  const fs::path config = write_images_run();
  const fs::path whole = find_run_folder(train(config, "whole"), "images");
  const fs::path parts = find_run_folder(train(config, "parts", {"--set", "train.steps=6"}), "images");
  train(config, "parts", {"--resume", parts.string()});
  for (const char* name : {"train/loss", "validation/loss", "validation/accuracy"})
    CHECK(read_last_metric(whole, name) == read_last_metric(parts, name));
  const auto weights = [](const fs::path& run) {
    return read_file(run / "checkpoints" / "step-00000009" / "model.safetensors");
  };
  CHECK(weights(whole) == weights(parts));
}

TEST_CASE("a table trains with its class names") {
  const fs::path config = write_file(make_empty_folder("files") / "table.toml", R"toml(
[run]
name = "table"
[model]
use = "mlp"
inputs = { image = "data.features" }
params = { classes = 3 }
[data]
batch_size = 4
[data.train]
use = "parquet"
[data.train.params]
path = ")toml" + kFiles + R"toml(table"
columns = ["fine"]
labels = ["species"]
features = ["weight", "height", "ripe"]
[[loss]]
use = "cross_entropy"
inputs = { target = "data.species" }
[train]
epochs = 2
[optimizer]
use = "adamw"
lr = 1e-2
)toml");
  const fs::path run = find_run_folder(train(config, "runs"), "table");
  const std::string plan = read_file(run / "plan.toml");
  CHECK(plan.find("species = [\"apple\", \"fig\", \"pear\"]") != std::string::npos);
  CHECK(plan.find("fine = [\"smooth\", \"rough\"]") != std::string::npos);
}
