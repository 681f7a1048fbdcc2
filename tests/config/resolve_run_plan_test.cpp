#include "framework/config/resolve/resolve_run_plan.h"

#include <doctest/doctest.h>

#include "framework/config/file/read_run_config.h"
#include "framework/config/file/suggest_names.h"
#include "framework/config/file/usable_resources.h"
#include "tests/config/run_file.h"
#include "tests/config/stub_schemas.h"
#include "tests/test_folder.h"

namespace tenon::config {
namespace {

template <class T>
T param(const ComponentPlan& plan, const std::string& name) {
  return std::get<T>(plan.params.at(name));
}

}  // namespace

TEST_CASE("the shortest run file gets every documented default") {
  const RunPlan plan = plan_of(kShortRunFile);
  CHECK(plan.run.name == "digits");
  CHECK(plan.run.output_dir == std::filesystem::current_path() / "runs");
  CHECK(plan.run.seed == 0);
  CHECK(plan.run.deterministic == Determinism::off);
  CHECK(plan.train.accumulate == 1);
  CHECK(plan.train.precision == Precision::fp32);
  CHECK(plan.train.clip_norm == 0);
  CHECK(plan.train.clip_value == 0);
  CHECK(plan.train.non_finite == NonFinite::stop);
  CHECK(plan.train.max_skipped_steps == 10);
  CHECK(plan.run.device == DeviceChoice{DeviceChoice::Kind::automatic});
  CHECK(plan.train.cudnn_benchmark == CudnnBenchmark::automatic);
  CHECK(plan.train.cuda_graph == CudaGraph::automatic);
  CHECK(plan.train.memory_format == MemoryFormat::automatic);
  CHECK(plan.train.cudnn_attention);
  CHECK_FALSE(plan.train.activation_checkpointing);
  CHECK_FALSE(plan.train.average.has_value());
  CHECK(plan.run.threads == 0);
  CHECK_FALSE(plan.run.flush_denormal);
  CHECK(plan.plugin_paths.empty());
  CHECK(plan.model.weights.empty());
  CHECK(plan.data.validation_batch_size == 64);
  CHECK(plan.data.workers == 2);
  CHECK(plan.data.prefetch == 2);
  CHECK(plan.data.shuffle);
  CHECK_FALSE(plan.data.drop_last);
  CHECK(plan.data.repeated_augmentation == 1);
  CHECK(plan.data.limit_batches == 0);
  CHECK(plan.data.validation_limit_batches == 0);
  CHECK(plan.data.subset_seed == 0);
  CHECK(plan.data.train.subset.is_whole());
  CHECK(plan.data.validation.at(0).subset.is_whole());
  CHECK(plan.losses.at(0).name == "cross_entropy");
  CHECK(plan.losses.at(0).weight == 1);
  CHECK(plan.metrics.at(0).name == "accuracy");
  CHECK(plan.callbacks.empty());
  CHECK(to_string(plan.validation.every) == "1 epoch");
  CHECK_FALSE(plan.validation.at_start);
  CHECK(to_string(plan.checkpoint.every) == "1 epoch");
  CHECK(plan.checkpoint.keep == 3);
  CHECK(plan.checkpoint.monitor == "validation/loss");
  CHECK(plan.checkpoint.mode == CheckpointSection::Mode::automatic);
  CHECK(plan.checkpoint.keep_best == 1);
  CHECK_FALSE(plan.checkpoint.load_best_at_end);
  CHECK_FALSE(plan.checkpoint.exclude_frozen_parameters);
  CHECK(to_string(plan.log.every) == "50 steps");
  CHECK(plan.log.tensorboard);
  CHECK(to_string(plan.log.histograms) == "never");
  CHECK(plan.log.samples == 512);
  CHECK(plan.distributed.processes == 1);
  CHECK(plan.distributed.backend == Backend::automatic);
  CHECK(plan.distributed.interface.empty());
  CHECK(plan.distributed.timeout_s == 100);
  CHECK(plan.distributed.bucket_mib == 25);
  CHECK(plan.distributed.first_bucket_mib == 1);
  CHECK(plan.distributed.compression == Compression::none);
  CHECK(plan.distributed.shard == Shard::none);
  CHECK_FALSE(plan.distributed.find_unused_parameters);
  CHECK_FALSE(plan.distributed.static_graph);
  CHECK_FALSE(plan.distributed.synchronize_batch_norm);
  CHECK(std::holds_alternative<ConstantSchedule>(plan.schedule.shape));
}

TEST_CASE("a callback receives all events unless its table filters them") {
  const auto filter_of = [](const std::string& more) {
    return plan_of(kShortRunFile, {"callback=[{use='early_stopping'" + more + "}]"}).callbacks.at(0).filter;
  };
  const EventFilter all = filter_of("");
  CHECK(all.every.unit == Period::Unit::never);
  CHECK(all.after.unit == Period::Unit::never);
  CHECK_FALSE(all.once);
  CHECK_FALSE(all.priority);
  const EventFilter some = filter_of(", every='100 steps', after='2 minutes', once=true, priority=-7");
  CHECK(to_string(some.every) == "100 steps");
  CHECK(to_string(some.after) == "2 minutes");
  CHECK(some.once);
  CHECK(some.priority == -7);
}

TEST_CASE("the shortest run file keeps its values") {
  const RunPlan plan = plan_of(kShortRunFile);
  CHECK(plan.file == test_folder() / "digits.toml");
  CHECK(plan.model.use == "small_cnn");
  CHECK(plan.model.place == (test_folder() / "digits.toml").string() + ":2:7");
  CHECK(plan.data.batch_size == 64);
  CHECK(plan.data.train.name == "train");
  CHECK(plan.data.validation.at(0).name == "validation");
  CHECK(param<std::string>(plan.data.validation.at(0), "split") == "test");
  CHECK(plan.train.epochs == 10);
  CHECK(plan.train.steps == 0);
}

TEST_CASE("every parameter of a component's schema is in the plan") {
  const RunPlan plan = plan_of(kShortRunFile, {"model.params.classes=7"});
  CHECK(plan.model.params.size() == 3);
  CHECK(param<int64_t>(plan.model, "classes") == 7);
  CHECK(param<int64_t>(plan.model, "width") == 32);
}

TEST_CASE("an integer is accepted where a number is expected") {
  const RunPlan plan = plan_of(kShortRunFile, {"loss.0.params.label_smoothing=0", "loss.0.weight=2"});
  CHECK(param<double>(plan.losses.at(0), "label_smoothing") == 0.0);
  CHECK(plan.losses.at(0).weight == 2.0);
}

TEST_CASE("relative paths start from the run file's folder, and output_dir from the working directory") {
  const RunPlan plan = plan_of(
      kShortRunFile, {"data.train={use='image_folder', params={path='../images'}}", "model.weights=start.safetensors",
                      "plugins.paths=['plugins', '/opt/p']", "run.output_dir=../runs"});
  CHECK(param<std::string>(plan.data.train, "path") == (test_folder().parent_path() / "images").string());
  CHECK(plan.model.weights == test_folder() / "start.safetensors");
  CHECK(plan.plugin_paths == std::vector<std::filesystem::path>{test_folder() / "plugins", "/opt/p"});
  CHECK(plan.run.output_dir == std::filesystem::current_path().parent_path() / "runs");
}

TEST_CASE("a change of the training data keeps the parameters that it does not set") {
  const RunPlan plan =
      plan_of(kShortRunFile, {"data.train={use='image_folder', subset='50%', params={path='images', image_size=16}, "
                              "change=[{at_epoch=3, params={image_size=32}}, {at_epoch=4, params={path='others'}}]}"});
  REQUIRE(plan.data.scheduled_train.size() == 2);
  const ScheduledDataset& first = plan.data.scheduled_train[0];
  CHECK(first.at_epoch == 3);
  CHECK(first.name == "train");
  CHECK(to_string(first.subset) == "50%");
  CHECK(param<int64_t>(first, "image_size") == 32);
  CHECK(param<std::string>(first, "path") == (test_folder() / "images").string());
  CHECK(first.changed == Values{{"image_size", int64_t{32}}});
  const ScheduledDataset& second = plan.data.scheduled_train[1];
  CHECK(second.at_epoch == 4);
  CHECK(param<int64_t>(second, "image_size") == 32);
  CHECK(param<std::string>(second, "path") == (test_folder() / "others").string());
}

TEST_CASE("the plugin directories of the command line come before those of the file, without duplicates") {
  const auto file = write_run_file(std::string(kShortRunFile) + "[plugins]\npaths = [\"/opt/p\", \"/opt/q\"]\n");
  const RunPlan plan = resolve_run_plan(read_run_config(file, {}, {"mine/../built", "/opt/q"}), StubSchemas());
  CHECK(plan.plugin_paths ==
        std::vector<std::filesystem::path>{std::filesystem::current_path() / "built", "/opt/q", "/opt/p"});
}

TEST_CASE("plugin paths are resolved without schemas") {
  const RunConfig config = read_run_config(write_run_file("[plugins]\npaths = [\"a/../b\"]\n"), {});
  CHECK(resolve_plugin_paths(config) == std::vector<std::filesystem::path>{test_folder() / "b"});
}

TEST_CASE("validation has a separate batch size, for one dataset or several") {
  const RunPlan plan = plan_of(
      kShortRunFile, {"data.validation_batch_size=8", "data.validation={hard={use='digits'}, easy={use='digits'}}"});
  CHECK(plan.data.validation_batch_size == 8);
  CHECK(plan.data.validation.size() == 2);
}

TEST_CASE("without validation data there is no validation") {
  const std::string text = R"(model = { use = "mlp" }
data = { batch_size = 2, train = { use = "digits" } }
loss = [{ use = "cross_entropy" }]
train = { steps = 5 }
optimizer = { use = "sgd", lr = 0.1 }
)";
  CHECK(plan_of(text).validation.every.unit == Period::Unit::never);
  CHECK(plan_of(text, {"validation.every=never", "validation.at_start=false"}).train.steps == 5);
  CHECK(error_of(text, {"validation.at_start=true"}).find("there is no [data.validation]") != std::string::npos);
}

TEST_CASE("inputs come from the data, and inputs of a loss also from the model") {
  const RunPlan plan = plan_of(kShortRunFile, {"model.inputs.image=data.image", "loss.0.inputs.logits=model.logits"});
  CHECK(plan.model.inputs.at("image") == "data.image");
  CHECK(plan.losses.at(0).inputs.at("logits") == "model.logits");
}

TEST_CASE("an unknown component is reported with the searched folders") {
  CHECK(error_of(kShortRunFile, {"model.use=smal_cnn"}) ==
        "--set model.use: model.use is \"smal_cnn\"; expected the id of a model; did you mean \"small_cnn\"? "
        "(searched: plugins)");
}

TEST_CASE("the callback mlflow, which earlier versions had, names the command that replaces it") {
  CHECK(error_of(kShortRunFile, {"callback.0.use=mlflow"}) ==
        "--set callback.0.use: callback \"mlflow\" is no longer part of Tenon; remove it, and log the run with: "
        "tenon-log mlflow RUN");
}

TEST_CASE("two losses with the same id need different names") {
  const std::vector<std::string> twice = {"loss.1.use=cross_entropy"};
  CHECK(error_of(kShortRunFile, twice)
            .find("loss.1 has the name \"cross_entropy\", which is already the name of loss.0") != std::string::npos);
  CHECK(plan_of(kShortRunFile, {twice[0], "loss.1.name=smooth"}).losses.size() == 2);
}

TEST_CASE("all errors of a plan are listed in the order of the file") {
  const std::string message = error_of(R"([optimizer]
use = "sgd"
[model]
use = "cnn"
inputs = { image = "image" }
[train]
[data.train]
use = "digits"
params = { splt = "train" }
[[loss]]
use = "cross_entropy"
params = { label_smoothing = "much" }
)");
  CHECK(message ==
        "digits.toml:1:1: optimizer.lr is missing; expected a number above 0\n"
        "digits.toml:4:7: model.use is \"cnn\"; expected the id of a model; did you mean \"small_cnn\"? (searched: "
        "plugins)\n"
        "digits.toml:5:20: model.inputs.image is \"image\"; expected \"data.<field>\"\n"
        "digits.toml:6:1: train.epochs is missing; expected epochs or steps, such as epochs = 10\n"
        "digits.toml:7:1: data.batch_size is missing; expected the number of samples in a batch, such as 64\n"
        "digits.toml:9:12: data.train.params.splt is not a parameter of digits; did you mean \"split\"?\n"
        "digits.toml:12:30: loss.0.params.label_smoothing is \"much\"; expected a number in [0, 1)");
}

TEST_CASE("an unknown id is suggested by its meaning") {
  const StubSchemas schemas;
  const auto suggestion = [&](ComponentKind kind, const std::string& id) {
    return suggest_component(kind, id, schemas);
  };
  CHECK(suggestion(ComponentKind::loss, "CrossEntropyLoss") == "; did you mean \"cross_entropy\"?");
  CHECK(suggestion(ComponentKind::loss, "nll") == "; did you mean \"cross_entropy\"?");
  CHECK(suggestion(ComponentKind::dataset, "images") == "; did you mean \"image_folder\"?");
  CHECK(suggestion(ComponentKind::dataset, "csv") == "; known: digits, image_folder");
  CHECK(suggestion(ComponentKind::model, "plugins/mlp.so") == "; did you mean \"mlp\"?");
  CHECK(suggestion(ComponentKind::callback, "tensorboard") ==
        "; did you mean \"log.tensorboard\", a key of the run file?");
}

TEST_CASE("automatic workers use all spare cores, and at least one") {
  const int64_t workers = plan_of(kShortRunFile, {"data.workers=auto"}).data.workers;
  CHECK(workers == std::max<int64_t>(count_usable_cores() - 1, 1));
  // Each process has separate workers.
  const int64_t of_many = plan_of(kShortRunFile, {"data.workers=auto", "distributed.processes=64"}).data.workers;
  CHECK(of_many == std::max<int64_t>(count_usable_cores() / 64 - 1, 1));
  CHECK(plan_of(kShortRunFile, {"data.workers=0"}).data.workers == 0);
}

TEST_CASE("each dataset has its subset of the samples, with one seed") {
  const RunPlan plan =
      plan_of(kShortRunFile, {"data.train.subset='80%'", "data.subset_seed=3",
                              "data.validation={a={use='digits', subset='80%-90%'}, b={use='digits'}}"});
  CHECK(plan.data.subset_seed == 3);
  CHECK(to_string(plan.data.train.subset) == "80%");
  CHECK(to_string(plan.data.validation.at(0).subset) == "80%-90%");
  CHECK(plan.data.validation.at(1).subset.is_whole());
}

TEST_CASE("pinned digests are stored in lower case with their locations") {
  const std::string upper = "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855";
  const RunPlan plan = plan_of(kShortRunFile + ("[plugins]\nsha256 = { \"spiral.so\" = \"" + upper + "\" }\n"));
  REQUIRE(plan.plugin_pins.size() == 1);
  CHECK(plan.plugin_pins[0].file == "spiral.so");
  CHECK(plan.plugin_pins[0].sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(plan.plugin_pins[0].place.ends_with("digits.toml:20:26"));
}

}  // namespace tenon::config
