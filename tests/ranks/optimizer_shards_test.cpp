// A run with its optimizer, or also its gradients, divided over the ranks computes the same bits as one in which every
// rank updates everything.
#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/ranks/run_ranks.h"

namespace optimizer_shards_test {

using namespace tenon::pipeline;
using tenon::distributed::digest;
using tenon::distributed::ProcessGroup;
using tenon::distributed::run_in_group;

namespace {

using Overrides = std::vector<std::string>;
using Lines = std::multiset<std::string>;

const Overrides kCommon{"run.deterministic=true", "data.workers=0", "data.batch_size=6", "validation.every=\"never\"",
                        "train={steps=5}"};
const std::string kAdamw = "optimizer={use=\"adamw\",lr=0.01,weight_decay=0.1}";
const std::string kMuon = "optimizer={use=\"muon\",lr=0.01}";
const std::string kSgd = "optimizer={use=\"sgd\",lr=0.05,momentum=0.9}";
// The sizes cannot be divided evenly.
const std::string kMlp = "model={use=\"mlp\",params={hidden=[37,5,11]}}";

// The last checkpoint of a rank: its model, and the state of the optimizer and of averaged weights.
struct Saved {
  Lines model, state;
};

std::string describe(const Checkpoint& checkpoint) {
  std::ostringstream text;
  for (const auto& one : checkpoint.model) text << "model " << one.name << " " << digest(one.tensor) << "\n";
  for (const auto& [name, tensor] : checkpoint.state.tensors)
    if (name.starts_with("optimizer.") || name.starts_with("weights.")) text << name << " " << digest(tensor) << "\n";
  return text.str();
}

Saved parse(const std::string& text) {
  Saved saved;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    (line.starts_with("model ") ? saved.model : saved.state).insert(line);
  return saved;
}

// Trains each setup on `size` ranks. Returns the last checkpoints: [setup][rank].
std::vector<std::vector<Saved>> train(int64_t size, const std::vector<Overrides>& setups, const std::string& shard) {
  const auto texts = run_in_group(size, {}, [&](ProcessGroup& group) {
    std::string all;
    for (const Overrides& overrides : setups) {
      Setup setup{kCommon, ""};
      setup.overrides.insert(setup.overrides.end(), overrides.begin(), overrides.end());
      setup.overrides.push_back("distributed.shard=\"" + shard + "\"");
      BuiltRun run(setup, group);
      run.train();
      all += describe(run.recorder.checkpoints.back()) + '\f';
    }
    return all;
  });
  std::vector<std::vector<Saved>> saved(setups.size());
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 200));
    REQUIRE(std::ranges::count(text, '\f') == static_cast<std::ptrdiff_t>(setups.size()));
    std::istringstream all(text);
    for (std::vector<Saved>& of_setup : saved) {
      std::string one;
      std::getline(all, one, '\f');
      of_setup.push_back(parse(one));
    }
  }
  return saved;
}

Lines select(const Lines& lines, const std::string& prefix) {
  Lines selected;
  std::ranges::copy_if(lines, std::inserter(selected, selected.end()),
                       [&](const std::string& line) { return line.starts_with(prefix); });
  return selected;
}

void check_same(int64_t size, const std::vector<Overrides>& setups, const std::string& shard,
                const std::vector<std::vector<Saved>>& plain) {
  const auto divided = train(size, setups, shard);
  for (size_t i = 0; i < setups.size(); ++i) {
    std::string description = std::to_string(size) + " ranks, " + shard + ":";
    for (const std::string& one : setups[i]) description += " " + one;
    CAPTURE(description);
    Lines state;
    for (const Saved& rank : divided[i]) {
      CHECK(rank.model == plain[i][0].model);
      CHECK(select(rank.state, "weights.") == select(plain[i][0].state, "weights."));
      const Lines of_rank = select(rank.state, "optimizer.");
      CHECK(of_rank.size() < select(plain[i][0].state, "optimizer.").size());
      state.insert(of_rank.begin(), of_rank.end());
    }
    CHECK(!state.empty());
    CHECK(state == select(plain[i][0].state, "optimizer."));  // no state is missing, and none is kept twice
  }
}

void check_same(int64_t size, const std::vector<Overrides>& setups) {
  const auto plain = train(size, setups, "none");
  check_same(size, setups, "optimizer", plain);
  check_same(size, setups, "gradients", plain);
}

// With divided gradients each batch of a step is summed over the ranks, so the sums are rounded in another order.
void check_same_optimizer(int64_t size, const std::vector<Overrides>& setups) {
  check_same(size, setups, "optimizer", train(size, setups, "none"));
}

}  // namespace

TEST_CASE("every optimizer gives the same bits with and without a divided state") {
  std::vector<Overrides> setups;
  for (const std::string use : {"adam", "rmsprop", "adagrad", "lion"})
    setups.push_back({kMlp, "optimizer={use=\"" + use + "\",lr=0.003" +
                                (use == "rmsprop" ? std::string(",momentum=0.5}") : std::string("}"))});
  setups.push_back({kMlp, "optimizer={use=\"schedule_free_adamw\",lr=0.01}"});
  setups.push_back({kMlp, kMuon});
  setups.push_back({kMlp, kSgd});
  setups.push_back({kMlp, "optimizer={use=\"sgd\",lr=0.05,momentum=0.9,dampening=0.1}"});
  setups.push_back({kMlp, kAdamw});
  check_same(2, setups);
  check_same(3, {{kMlp, kSgd}, {kMlp, kAdamw, "train.clip_norm=0.1"}});
  check_same_optimizer(3, {{kMlp, kMuon, "train.accumulate=3"}});
}

TEST_CASE("a divided optimizer gives the same bits with each option of the step") {
  const std::string resnet = "model={use=\"resnet\",params={depth=18,width=4,stem=\"cifar\"}}";
  const std::string vit =
      "model={use=\"vit\",params={image_size=8,patch_size=4,width=12,depth=2,heads=3,mlp_width=20}}";
  const std::string segmented = "model={use=\"segmented\"}", checkpointing = "train.activation_checkpointing=true";
  const std::string ema = "train.average={use=\"ema\",decay=0.9}";
  check_same_optimizer(2, {{resnet, kMuon, "train.accumulate=3", "train.memory_format=\"channels_last\""},
                           {segmented, kAdamw, checkpointing, "train.accumulate=3"}});
  check_same(2, {{resnet, kMuon, "train.memory_format=\"channels_last\""},
                 {vit, kAdamw, "train.precision=\"bf16\"", "train.clip_norm=0.5"},
                 {segmented, kAdamw, checkpointing},
                 {kMlp, kSgd, "train.precision=\"fp16\"", ema},
                 {kMlp, kAdamw, "distributed.compression=\"bf16\"", "train.clip_value=0.01"},
                 {kMlp, kAdamw, "distributed.find_unused_parameters=true", "train.non_finite=\"skip\""}});
  check_same(3, {{vit, kMuon, ema}, {segmented, kSgd, checkpointing}, {resnet, kAdamw, "train.precision=\"bf16\""}});
}

TEST_CASE("frozen parameters belong to a rank only while they are trained") {
  const std::string optimizer = "optimizer={use=\"adamw\",lr=0.01,group=[";
  const std::string steps = "train={epochs=2}", few = "data.train.subset=\"4%\"";
  check_same(
      2, {{kMlp, optimizer + "{match=[\"*bias\"],frozen=true}]}"},
          {kMlp, steps, few, optimizer + "{match=[\"layers.0.*\"],frozen_epochs=1},{match=[\"*\"],lr_scale=0.5}]}"}});
}

TEST_CASE("four ranks of which some have no parameter, and ranks that communicate by sockets, give the same bits") {
  check_same(4, {{"model={use=\"mlp\",params={hidden=[]}}", kAdamw}});
  check_same_optimizer(4, {{kMlp, kSgd, "train.accumulate=3"}});
  check_same(2, {{kMlp, kMuon, "distributed.backend=\"gloo\""},
                 {kMlp, kAdamw, "distributed={backend=\"gloo\",bucket_mib=0.001,first_bucket_mib=0.001}"}});
}

TEST_CASE("one process ignores that the state is to be divided") {
  Setup setup{kCommon, ""};
  setup.overrides.insert(setup.overrides.end(), {kMlp, kAdamw, "distributed.shard=\"optimizer\""});
  BuiltRun run(setup);
  CHECK(run.training->shards == nullptr);
}

}  // namespace optimizer_shards_test
