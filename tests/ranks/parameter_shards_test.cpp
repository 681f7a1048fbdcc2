// A run with its weights divided over the ranks computes the same bits as one in which every rank has all weights.
#include <ATen/record_function.h>
#include <torch/types.h>

#include <map>
#include <memory>
#include <sstream>

#include "tests/allocated_memory.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/ranks/run_ranks.h"

namespace parameter_shards_test {

using namespace tenon::pipeline;
using tenon::distributed::ProcessGroup;
using tenon::distributed::run_in_group;

namespace {

using Overrides = std::vector<std::string>;

const Overrides kCommon{"run.deterministic=true",
                        "data.workers=0",
                        "data.batch_size=6",
                        "data.train.subset=\"7%\"",
                        "data.validation.subset=\"30%\"",
                        "data.validation_batch_size=40",
                        "train={epochs=2}",
                        "validation.at_start=true",
                        "log.every=\"1 step\"",
                        "checkpoint.every=\"5 steps\""};
const std::string kAdamw = "optimizer={use=\"adamw\",lr=0.01,weight_decay=0.1}";
const std::string kMuon = "optimizer={use=\"muon\",lr=0.01}";
const std::string kSegmented = "model={use=\"segmented\"}";
const std::string kVit = "model={use=\"vit\",params={image_size=8,patch_size=4,width=12,depth=3,heads=3,mlp_width=20}}";
const std::string kResnet = "model={use=\"resnet\",params={depth=18,width=4,stem=\"cifar\"}}";
const std::string kCheckpointing = "train.activation_checkpointing=true";

// The largest share of the weights that this rank has in memory: between steps, while a checkpoint is written, and at
// the start and the end of the run.
class HeldWeights final : public Observer {
 public:
  explicit HeldWeights(const Training& training) : training_(training) {}
  bool subscribes(Event event) const override {
    return event == Event::run_start || event == Event::step_end || event == Event::validation_start ||
           event == Event::checkpoint_before || event == Event::checkpoint_after || event == Event::run_end;
  }
  void on_event(Event, const RunState&, CallbackRequests&) override {
    double held = 0, total = 0;
    for (const auto& named : training_.optimizer->parameters()) {
      total += static_cast<double>(named.tensor.nbytes());
      held += static_cast<double>(named.tensor.storage().nbytes());
    }
    largest = std::max(largest, held / total);
  }
  double largest = 0;

 private:
  const Training& training_;
};

// The operators of the last step on this thread: gathers that are completed, those that are started, convolutions, and
// their backward.
class OperatorLog final : public Observer {
 public:
  OperatorLog() {
    current_ = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
          current_->note(function.name());
          return nullptr;
        }).scopes({at::RecordScope::FUNCTION}));
  }
  ~OperatorLog() override { at::removeCallback(handle_); }
  OperatorLog(const OperatorLog&) = delete;
  OperatorLog& operator=(const OperatorLog&) = delete;
  bool subscribes(Event event) const override { return event == Event::step_start || event == Event::step_end; }
  void on_event(Event event, const RunState&, CallbackRequests&) override {
    is_in_step_ = event == Event::step_start;
    if (is_in_step_) operators.clear();
  }
  std::string operators;

 private:
  void note(const std::string& name) {
    static const std::map<std::string, std::string> kNames{{"tenon::all_gather", "gather "},
                                                           {"tenon::start_all_gather", "start "},
                                                           {"aten::convolution", "conv "},
                                                           {"aten::convolution_backward", "back "}};
    const auto found = kNames.find(name);
    if (is_in_step_ && found != kNames.end()) operators += found->second;
  }
  static thread_local OperatorLog* current_;
  bool is_in_step_ = false;
  at::CallbackHandle handle_;
};

thread_local OperatorLog* OperatorLog::current_ = nullptr;

// All metrics with all digits, and after a tab the bits of all checkpoints.
std::string describe(const BuiltRun& run) {
  std::ostringstream text;
  text.precision(17);
  for (const RecordedLine& line : run.recorder.lines)
    for (const auto& [name, value] : line.metrics) text << line.step << " " << name << " " << value << "\n";
  text << '\t';
  for (size_t i = 0; i < run.recorder.checkpoints.size(); ++i) {
    for (const auto& one : run.recorder.checkpoints[i].model)
      text << "checkpoint " << run.recorder.checkpoint_steps[i] << " " << one.name << " "
           << tenon::distributed::digest(one.tensor) << "\n";
  }
  return text.str();
}

Setup setup_with(const Overrides& overrides, const std::string& shard) {
  Setup setup{kCommon, ""};
  setup.overrides.insert(setup.overrides.end(), overrides.begin(), overrides.end());
  setup.overrides.push_back("distributed.shard=\"" + shard + "\"");
  return setup;
}

std::vector<std::string> train(int64_t size, const std::vector<Overrides>& setups, const std::string& shard) {
  return run_in_group(size, {}, [&](ProcessGroup& group) {
    std::string all;
    for (const Overrides& overrides : setups) {
      BuiltRun run(setup_with(overrides, shard), group);
      HeldWeights held(*run.training);
      run.train({&held});
      // The shares of a few layers are uneven.
      const double limit = 1.0 / static_cast<double>(size) + 0.3;
      if (shard == "parameters" && held.largest > limit) all += "holds " + std::to_string(held.largest) + "\n";
      all += describe(run) + '\f';
    }
    return all;
  });
}

// The runs of a rank: metrics and the sorted lines of the checkpoints.
struct Described {
  std::string metrics;
  std::vector<std::string> tensors;
};

std::vector<Described> parse(const std::string& text) {
  std::vector<Described> runs;
  std::istringstream stream(text);
  for (std::string run; std::getline(stream, run, '\f');) {
    Described& one = runs.emplace_back();
    const size_t tab = run.find('\t');
    one.metrics = run.substr(0, tab);
    std::istringstream lines(run.substr(tab + 1));
    for (std::string line; std::getline(lines, line);) one.tensors.push_back(line);
  }
  return runs;
}

void check_same(int64_t size, const std::vector<Overrides>& setups) {
  const auto whole = train(size, setups, "gradients"), divided = train(size, setups, "parameters");
  std::vector<std::vector<Described>> expected, found;  // of each rank
  for (const std::string& text : whole) expected.push_back(parse(text));
  for (const std::string& text : divided) found.push_back(parse(text));
  for (size_t i = 0; i < setups.size(); ++i) {
    std::string description = std::to_string(size) + " ranks:";
    for (const std::string& one : setups[i]) description += " " + one;
    CAPTURE(description);
    std::vector<std::string> tensors;  // of all ranks, which write different ones
    for (size_t rank = 0; rank < static_cast<size_t>(size); ++rank) {
      CAPTURE(rank);
      REQUIRE(expected[rank].size() == setups.size());
      REQUIRE(found[rank].size() == setups.size());
      CHECK(expected[rank][i].metrics.find(" validation/loss ") != std::string::npos);
      CHECK(found[rank][i].metrics == expected[rank][i].metrics);
      const std::vector<std::string>& written = found[rank][i].tensors;
      tensors.insert(tensors.end(), written.begin(), written.end());
      const bool has_all = written.size() == expected[rank][i].tensors.size();
      CHECK((expected[rank][i].tensors.empty() || !has_all));
    }
    std::vector<std::string> all = expected[0][i].tensors;
    std::ranges::sort(all);
    std::ranges::sort(tensors);
    CHECK(tensors == all);
  }
}

}  // namespace

TEST_CASE("divided weights give the same bits as whole ones") {
  check_same(2, {{kSegmented, kAdamw},
                 {kSegmented, kAdamw, kCheckpointing},
                 {kVit, kMuon, "train.accumulate=3", "train.clip_norm=0.5"},
                 {kVit, kAdamw, kCheckpointing, "train.precision=\"bf16\""},
                 {kResnet, kMuon, "train.memory_format=\"channels_last\"", "train.precision=\"fp16\""},
                 {kResnet, kAdamw, "train.memory_format=\"channels_last\"", "train.precision=\"bf16_true\""},
                 {kVit, "optimizer={use=\"schedule_free_adamw\",lr=0.01}"}});
  check_same(3, {{kVit, kAdamw, "train.precision=\"bf16\"", "train.average={use=\"ema\",decay=0.9}"},
                 {kResnet, kAdamw, "train.average={use=\"swa\",every=\"3 steps\"}"},
                 {kSegmented, kMuon, kCheckpointing, "train.accumulate=2"}});
}

TEST_CASE("frozen weights are divided, too") {
  const std::string group = "optimizer={use=\"adamw\",lr=0.01,group=[{match=[\"*mlp*\",\"class_token\"],";
  check_same(2, {{kVit, group + "frozen=true}]}"},
                 {kVit, group + "frozen_epochs=1}]}", "train.accumulate=2"},
                 {kVit, group + "frozen=true}]}", kCheckpointing, "train.average={use=\"ema\",decay=0.9}"}});
}

TEST_CASE("an evaluation may run other segments than training") {
  const std::string exported = "model={use=\"exported\",params={path=\"" TENON_SOURCE_DIR
                               "/tests/parity/reference/exported/residual.pt2\",outputs=[\"logits\"]}}";
  check_same(2, {{exported, kAdamw, "train.accumulate=2", "data.batch_size=8"},
                 {exported, kAdamw, "data.batch_size=8", kCheckpointing}});
}

TEST_CASE("divided weights give the same bits if they are sent by sockets") {
  check_same(2, {{kVit, kAdamw, "distributed.backend=\"gloo\""},
                 {kSegmented, kAdamw, kCheckpointing, "distributed={backend=\"gloo\",bucket_mib=0.001}"}});
}

TEST_CASE("messages with the weights of the next segment are sent while a segment runs") {
  const auto last_step = [](const std::string& backend) {
    return run_in_group(2, {}, [&](ProcessGroup& group) {
      Setup setup{{"run.deterministic=true", "data.workers=0", "train={steps=3}", "checkpoint.every=\"never\"",
                   "distributed={shard=\"parameters\",backend=\"" + backend + "\"}", kSegmented},
                  ""};
      BuiltRun run(setup, group);
      OperatorLog log;
      run.train({&log});
      return log.operators;
    });
  };
  // The classifier is gathered for the whole pass. Four segments have two convolutions each.
  for (const std::string& operators : last_step("auto"))
    CHECK(operators ==
          "gather gather conv conv gather conv conv gather conv conv gather conv conv "
          "gather back back gather back back gather back back gather back back ");
  for (const std::string& operators : last_step("gloo"))
    CHECK(operators ==
          "gather start start conv conv start conv conv start conv conv conv conv start "
          "start back back start back back start back back back back ");
}

TEST_CASE("ranks without a batch take part in passes with divided weights") {
  // 13 samples in batches of 12: the last batch of an epoch has one sample. 2 validation samples for three ranks.
  const Overrides few{"data.train.subset=\"0.94%\"", "data.validation.subset=\"0.6%\"", "data.batch_size=4",
                      "data.validation_batch_size=1", "checkpoint.every=\"never\""};
  std::vector<Overrides> setups{{kVit, kAdamw}, {kVit, kAdamw, kCheckpointing, "train.accumulate=2"}};
  for (Overrides& setup : setups) setup.insert(setup.end(), few.begin(), few.end());
  check_same(3, setups);
}

TEST_CASE("a rank never has the initial weights of all ranks") {
  const auto texts = run_in_group(4, {}, [&](ProcessGroup& group) {
    const auto memory = std::make_shared<tenon::AllocatedMemory>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
    const BuiltRun run({{"model={use=\"vit\",params={image_size=8,patch_size=4,width=60,depth=6,heads=3}}",
                         "distributed.shard=\"parameters\"", "data.workers=0"},
                        ""},
                       group);
    int64_t total = 0;
    for (const auto& named : run.training->optimizer->parameters())
      total += static_cast<int64_t>(named.tensor.nbytes());
    const bool is_share = memory->peak > total / 5 && memory->peak < total / 2;
    return is_share ? "" : std::to_string(memory->peak) + " of " + std::to_string(total) + " bytes";
  });
  for (const std::string& text : texts) CHECK(text == "");
}

TEST_CASE("divided weights need a model with segments") {
  const auto texts = run_in_group(2, {}, [](ProcessGroup& group) {
    try {
      BuiltRun run(setup_with({}, "parameters"), group);
      run.train();
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  });
  for (const std::string& text : texts)
    CHECK(text.find("declares no segments; expected a model that runs its layers as segments") != text.npos);
}

}  // namespace parameter_shards_test
