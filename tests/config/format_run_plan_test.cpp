#include "framework/config/file/format_run_plan.h"

#include <doctest/doctest.h>

#include <fstream>

#include "framework/config/file/read_run_config.h"
#include "framework/config/resolve/resolve_run_plan.h"
#include "tests/config/run_file.h"
#include "tests/config/stub_schemas.h"
#include "tests/test_folder.h"

namespace tenon::config {
namespace {

// Changes the working directory during its lifetime.
class OtherDirectory {
 public:
  explicit OtherDirectory(const std::filesystem::path& folder) { std::filesystem::current_path(folder); }
  ~OtherDirectory() { std::filesystem::current_path(before_); }
  OtherDirectory(const OtherDirectory&) = delete;
  OtherDirectory& operator=(const OtherDirectory&) = delete;

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
};

// Reads the plan's text as a run file in another folder and working directory, and prints the plan again.
std::string format_again(const std::string& printed) {
  const auto folder = tenon::test_folder() / "elsewhere";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "plan.toml", std::ios::binary) << printed;
  const OtherDirectory other_directory(folder);
  return format_run_plan(read_plan("plan.toml"));
}

}  // namespace

TEST_CASE("the names of classes are printed and read again") {
  const RunPlan plan = plan_of(std::string(kShortRunFile) +
                               "\n[data.class_names]\nlabel = [\"a \\\"b\\\"\", \"é\"]\n\"the mask\" = [\"x\"]\n");
  CHECK(plan.data.class_names == ClassNames{{"label", {"a \"b\"", "é"}}, {"the mask", {"x"}}});
  const std::string printed = format_run_plan(plan);
  CHECK(printed.find("\n[data.class_names]\nlabel = [\"a \\\"b\\\"\", \"é\"]\n\"the mask\" = [\"x\"]\n") !=
        std::string::npos);
  CHECK(format_again(printed) == printed);
}

TEST_CASE("the shortest run file is printed with every default") {
  CHECK(format_run_plan(plan_of(kShortRunFile)) ==
        std::string(R"(# The complete plan of a run, with all defaults written out. It can be run again unchanged.

[run]
name = "digits"
output_dir = )") +
            to_toml((std::filesystem::current_path() / "runs").string()) +
            R"(
seed = 0
deterministic = false
threads = 0
flush_denormal = false
device = "auto"

[plugins]
paths = []

[model]
use = "small_cnn"
params = { channels = 1, classes = 10, width = 32 }

[data]
batch_size = 64
validation_batch_size = 64
workers = 2
prefetch = 2
shuffle = true
drop_last = false
sampler = "uniform"
repeated_augmentation = 1
on_error = "stop"
limit_batches = 0
validation_limit_batches = 0
subset_seed = 0

[data.train]
use = "digits"
params = { split = "train" }
subset = "100%"

[data.validation]
use = "digits"
params = { split = "test" }
subset = "100%"

[[loss]]
use = "cross_entropy"
params = { label_smoothing = 0.0 }
name = "cross_entropy"
weight = 1.0

[[metric]]
use = "accuracy"
name = "accuracy"
on = ["validation"]

[train]
epochs = 10
accumulate = 1
precision = "fp32"
clip_norm = 0.0
clip_value = 0.0
non_finite = "stop"
max_skipped_steps = 10
memory_format = "auto"
cudnn_benchmark = "auto"
cuda_graph = "auto"
cudnn_attention = true
activation_checkpointing = false

[optimizer]
use = "adamw"
lr = 0.001
weight_decay = 0.01
decay = "matrices"
layer_decay = 1.0
betas = [0.9, 0.999]
eps = 1e-08
amsgrad = false

[schedule]
use = "constant"
warmup = 0.0
warmup_start_factor = 0.01

[validation]
every = "1 epoch"
at_start = false

[checkpoint]
every = "1 epoch"
keep = 3
asynchronous = true
monitor = "validation/loss"
mode = "auto"
keep_best = 1
load_best_at_end = false
exclude_frozen_parameters = false

[log]
every = "50 steps"
tensorboard = true
histograms = "never"
samples = 512

[distributed]
processes = 1
backend = "auto"
interface = ""
timeout_s = 100.0
bucket_mib = 25.0
first_bucket_mib = 1.0
compression = "none"
shard = "none"
find_unused_parameters = false
static_graph = false
synchronize_batch_norm = false
)");
}

TEST_CASE("a printed plan that is read in another folder is the same plan") {
  const std::vector<std::vector<std::string>> runs = {
      {},
      {"run={name='a \"b\" ü', output_dir='../out', seed=9223372036854775807, deterministic=true, threads=3}"},
      {"plugins.paths=['plugins', '../more']", "model.weights=start.safetensors"},
      {"model.weights=start.safetensors", "model.weights_match=partial", "model.weights_exclude=[\"fc.*\"]"},
      {"plugins.sha256={'b.so'='e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', "
       "'a b.so'='E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855'}"},
      {"model={use='mlp', params={hidden=[]}, inputs={features='data.image'}}"},
      {"data.train={use='image_folder', params={path='images', image_size=32}}"},
      {"data.train={use='image_folder', params={path='images'}, change=[{at_epoch=3, params={image_size=32}}, "
       "{at_epoch=7, params={image_size=48, path='others'}}]}"},
      {"data.validation={b={use='digits'}, 'a.c d'={use='digits', params={split='test'}}}"},
      {"data.validation={b={use='digits', subset='0.5%'}, c={use='digits', subset='33.333333%-66.666666%'}}"},
      {"data.limit_batches=7", "data.validation_limit_batches=3", "data.subset_seed=9223372036854775807",
       "data.workers=auto", "data.train.subset='80%'"},
      {"loss.0.weight=-0.1", "loss.1={use='cross_entropy', name='smooth', params={label_smoothing=0.1}}"},
      {"loss.0.inputs={logits='model.logits', 'odd key'='data.label'}", "metric.0.name=top"},
      {"callback=[{use='early_stopping'}, {use='early_stopping', params={mode='max', min_delta=1e-9}}]"},
      {"train={steps=1000,average={use='ema',decay=0.5,start='3 epochs',every='2 steps'}}", "run.deterministic=warn"},
      {"train={steps=1000,average={use='swa'},precision='bf16'}", "train.clip_norm=0.1"},
      {"callback=[{use='early_stopping', every='100 steps', after='90 seconds', once=true, priority=-3}]"},
      {"train={steps=1000}", "optimizer={use='sgd', lr=3e-4, momentum=0.9, nesterov=true}"},
      {"schedule={use='one_cycle', anneal='linear', warmup_fraction=0.123456789012345678}"},
      {"optimizer={use='adam', lr=1, amsgrad=true, decay='all'}", "schedule={use='linear', warmup_steps=7}"},
      {"optimizer={use='rmsprop', lr=1, centered=true}", "schedule={use='cosine', length='3 epochs', warmup='1 step'}"},
      {"optimizer={use='adagrad', lr=1}", "schedule={use='cosine_restarts', t_0=10, t_mult=2}"},
      {"optimizer={use='lion', lr=1, layer_decay=0.75}", "schedule={use='polynomial', length=0.5}"},
      {"optimizer={use='muon', lr=1, adamw_match=['a*', 'b\"'], adjust_lr='match_rms_adamw'}",
       "schedule.use=one_cycle"},
      {"optimizer={use='schedule_free_adamw', lr=1, betas=[0.5, 0.75], r=0.5, weight_lr_power=0}",
       "schedule={warmup_steps=7}"},
      {"optimizer.group=[{match=['*.bias', 'a b'], lr_scale=2, weight_decay=0}, {match=['c'], frozen=true}, "
       "{match=['d'], frozen_epochs=3}]",
       "schedule={use='multi_step', milestones=['3 epochs', 70, 0.1]}"},
      {"schedule={use='exponential', gamma=0.9}"},
      {"schedule={use='step', step_size='2 epochs'}"},
      {"schedule={use='warmup_stable_decay', shape='one_minus_sqrt'}"},
      {"schedule={use='reduce_on_plateau', mode='max', threshold_mode='abs'}"},
      {"log.histograms=20 steps", "log.samples=7"},
      {"validation.every=90 minutes", "checkpoint.every=never", "log.every=0.1 seconds", "log.tensorboard=false",
       "checkpoint.keep=1"},
      {"distributed={processes=3, backend='gloo', interface='eth0', timeout_s=0.5, bucket_mib=8, "
       "first_bucket_mib=0.5}"},
      {"distributed={backend='nccl', compression='fp16', find_unused_parameters=true, synchronize_batch_norm=true}"},
      {"distributed={compression='bf16', shard='optimizer', static_graph=true}"},
  };
  for (const auto& overrides : runs) {
    CAPTURE(overrides.empty() ? "" : overrides[0]);
    const std::string printed = format_run_plan(plan_of(kShortRunFile, overrides));
    CHECK(format_again(printed) == printed);
  }
}

TEST_CASE("the plugin directories of the command line are in the printed plan") {
  const RunConfig config = read_run_config(write_run_file(kShortRunFile), {}, {"built"});
  const std::string printed = format_run_plan(resolve_run_plan(config, StubSchemas()));
  const std::string path = to_toml((std::filesystem::current_path() / "built").string());
  CHECK(printed.find("[plugins]\npaths = [" + path + "]\n") != printed.npos);
  CHECK(format_again(printed) == printed);
}

TEST_CASE("the printed plan has every key of a run file") {
  const std::vector<std::string> bases = {"",
                                          "optimizer={use='sgd', lr=1, momentum=0.9}",
                                          "schedule.use=one_cycle",
                                          "optimizer={use='rmsprop', lr=1}",
                                          "optimizer={use='adagrad', lr=1}",
                                          "optimizer={use='lion', lr=1}",
                                          "optimizer={use='muon', lr=1}",
                                          "optimizer={use='schedule_free_adamw', lr=1}",
                                          "schedule={use='linear'}",
                                          "schedule={use='cosine'}",
                                          "schedule={use='cosine_restarts', t_0=3}",
                                          "schedule={use='polynomial'}",
                                          "schedule={use='step', step_size=3}",
                                          "schedule={use='multi_step', milestones=[3]}",
                                          "schedule={use='exponential', gamma=0.5}",
                                          "schedule={use='warmup_stable_decay'}",
                                          "schedule={use='reduce_on_plateau'}",
                                          "train.average={use='ema'}",
                                          "model.weights=b"};
  const std::vector<std::vector<std::string>> changes = {
      {"run.name=b",
       "run.output_dir=b",
       "run.seed=1",
       "run.deterministic=true",
       "run.deterministic=warn",
       "run.threads=1",
       "run.device=cpu",
       "run.device='cuda:1'",
       "plugins.paths=['b']",
       "plugins.sha256={'b.so'='e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'}",
       "model.use=mlp",
       "model.params.width=1",
       "model.weights=b",
       "model.inputs.image=data.image",
       "data.batch_size=1",
       "data.validation_batch_size=1",
       "data.workers=1",
       "data.prefetch=1",
       "data.shuffle=false",
       "data.drop_last=true",
       "data.sampler=length_bucketed",
       "data.repeated_augmentation=3",
       "data.on_error=skip",
       "data.batch_transform=[{use='normalize'}]",
       "data.batch_transform=[{use='normalize', field='b', mean=[0.5], std=[2.0]}]",
       "data.batch_transform=[{use='mix', classes=3}]",
       "data.batch_transform=[{use='mix', classes=4, image='a', label='b', target='c', methods=['mix_up'], alpha=0.5, "
       "p=0.5}]",
       "data.limit_batches=1",
       "data.validation_limit_batches=1",
       "data.subset_seed=1",
       "data.folds={count=5}",
       "data.folds={count=5, fold=4, stratify='a', group='b'}",
       "data.train.subset='1%'",
       "data.validation.subset='1%'",
       "data.train.params.split=test",
       "data.validation.params.split=train",
       "data.validation={b={use='digits'}}",
       "loss.0.name=b",
       "loss.0.weight=2",
       "loss.0.params.label_smoothing=0.1",
       "loss.0.inputs.logits=model.logits",
       "metric.0.name=b",
       "metric.0.inputs.logits=model.logits",
       "metric.0.on=['train']",
       "callback.0.use=early_stopping",
       "callback=[{use='early_stopping', every='2 epochs'}]",
       "callback=[{use='early_stopping', after='2 epochs'}]",
       "callback=[{use='early_stopping', once=true}]",
       "callback=[{use='early_stopping', priority=0}]",
       "train.epochs=1",
       "train={steps=10}",
       "train.accumulate=2",
       "train.precision=tf32",
       "train.precision=bf16",
       "train.precision=fp16",
       "train.precision=bf16_true",
       "train.clip_norm=1",
       "train.clip_value=1",
       "train.non_finite=skip",
       "train.max_skipped_steps=1",
       "train.memory_format=channels_last",
       "train.memory_format=contiguous",
       "run.flush_denormal=true",
       "train.cudnn_benchmark=true",
       "train.cudnn_benchmark=false",
       "train.cuda_graph=on",
       "train.cuda_graph=off",
       "train.cudnn_attention=false",
       "train.activation_checkpointing=true",
       "train.average={use='ema'}",
       "optimizer.lr=1",
       "optimizer.betas=[0, 0.999]",
       "optimizer.betas=[0.9, 0]",
       "optimizer.eps=1e-6",
       "optimizer.weight_decay=0",
       "optimizer.decay=all",
       "optimizer.layer_decay=0.5",
       "optimizer.amsgrad=true",
       "optimizer.use=adam",
       "optimizer.group=[{match=['a']}]",
       "optimizer.group=[{match=['a'], lr_scale=2}]",
       "optimizer.group=[{match=['a'], weight_decay=2}]",
       "optimizer.group=[{match=['a'], frozen=true}]",
       "optimizer.group=[{match=['a'], frozen_epochs=2}]",
       "optimizer.group=[{match=['a'], frozen_epochs=2, eval_batch_norm=true}]",
       "optimizer.group=[{match=['a'], frozen=true, eval_batch_norm=true}]",
       "schedule.warmup=0.5",
       "schedule.warmup_steps=5",
       "schedule.warmup_start_factor=0.5",
       "validation.every=1 step",
       "validation.at_start=true",
       "checkpoint.every=1 step",
       "checkpoint.keep=1",
       "checkpoint.asynchronous=false",
       "checkpoint.monitor=''",
       "checkpoint.monitor='validation/accuracy'",
       "checkpoint.mode=max",
       "checkpoint.keep_best=2",
       "checkpoint.load_best_at_end=true",
       "checkpoint.exclude_frozen_parameters=true",
       "log.every=1 step",
       "log.tensorboard=false",
       "log.histograms=1 epoch",
       "log.samples=0",
       "distributed.processes=2",
       "distributed.backend=gloo",
       "distributed.backend=nccl",
       "distributed.interface=eth0",
       "distributed.timeout_s=1",
       "distributed.bucket_mib=1",
       "distributed.first_bucket_mib=2",
       "distributed.compression=fp16",
       "distributed.compression=bf16",
       "distributed.shard=optimizer",
       "distributed.find_unused_parameters=true",
       "distributed.static_graph=true",
       "distributed.synchronize_batch_norm=true"},
      {"optimizer.lr=2", "optimizer.momentum=0.5", "optimizer.dampening=0.5", "optimizer.weight_decay=0.5",
       "optimizer.nesterov=true"},
      {"schedule.use=constant", "schedule.warmup_fraction=0.5", "schedule.div_factor=1", "schedule.final_div_factor=1",
       "schedule.anneal=linear", "schedule.base_momentum=0.5", "schedule.max_momentum=0.5"},
      {"optimizer.alpha=0.5", "optimizer.eps=0.5", "optimizer.momentum=0.5", "optimizer.centered=true"},
      {"optimizer.lr_decay=0.5", "optimizer.initial_accumulator_value=0.5", "optimizer.eps=0.5"},
      {"optimizer.betas=[0.5, 0.99]"},
      {"optimizer.momentum=0.5", "optimizer.nesterov=false", "optimizer.ns_coefficients=[1, 2, 3]",
       "optimizer.ns_steps=3", "optimizer.eps=0.5", "optimizer.adjust_lr=match_rms_adamw",
       "optimizer.adamw_match=['a']", "optimizer.adamw_lr_scale=0.5", "optimizer.adamw_weight_decay=0.5",
       "optimizer.adamw_betas=[0.5, 0.5]", "optimizer.adamw_eps=0.5"},
      {"optimizer.betas=[0.5, 0.99]", "optimizer.eps=0.5", "optimizer.r=0.5", "optimizer.weight_lr_power=0.5"},
      {"schedule.end_factor=0.5", "schedule.length=5"},
      {"schedule.eta_min=0.5", "schedule.length=5"},
      {"schedule.t_0=5", "schedule.t_mult=5", "schedule.eta_min=0.5"},
      {"schedule.power=0.5", "schedule.length=5"},
      {"schedule.step_size=5", "schedule.gamma=0.5"},
      {"schedule.milestones=[5]", "schedule.gamma=0.5"},
      {"schedule.every=5", "schedule.gamma=0.6"},
      {"schedule.decay=5", "schedule.shape=cosine", "schedule.end_factor=0.5"},
      {"schedule.monitor=a", "schedule.mode=max", "schedule.factor=0.5", "schedule.patience=5",
       "schedule.threshold=0.5", "schedule.threshold_mode=abs", "schedule.cooldown=5", "schedule.min_lr=0.5",
       "schedule.eps=0.5"},
      {"train.average.use=swa", "train.average.decay=0.5", "train.average.warm_up=true", "train.average.start='1 step'",
       "train.average.every='1 epoch'"},
      {"model.weights_match=partial", "model.weights_exclude=[\"head.*\"]", "model.weights_rename={'a.*'='*'}"},
  };
  REQUIRE(changes.size() == bases.size());
  for (size_t i = 0; i < bases.size(); ++i) {
    std::vector<std::string> overrides;
    if (!bases[i].empty()) overrides.push_back(bases[i]);
    const std::string unchanged = format_run_plan(plan_of(kShortRunFile, overrides));
    for (const std::string& change : changes[i]) {
      CAPTURE(change);
      std::vector<std::string> changed = overrides;
      changed.push_back(change);
      CHECK(format_run_plan(plan_of(kShortRunFile, changed)) != unchanged);
    }
  }
}

TEST_CASE("a plan without validation data is printed and read back") {
  const std::string text =
      "model = { use = \"mlp\" }\ndata = { batch_size = 2, train = { use = \"digits\" } }\n"
      "loss = [{ use = \"cross_entropy\" }]\ntrain = { steps = 5 }\n"
      "optimizer = { use = \"sgd\", lr = 0.1 }\n";
  const std::string printed = format_run_plan(plan_of(text));
  CHECK(printed.find("every = \"never\"") != printed.npos);
  CHECK(format_again(printed) == printed);
}

}  // namespace tenon::config
