// Parameter groups, decay, layers and freezing.
#include <map>
#include <string>
#include <vector>

#include "framework/optimization/optimizer.h"
#include "framework/optimization/parameter_rates.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

namespace tenon::optimization::groups_test {
namespace {

using config::OptimizerPlan;
using config::ParameterGroupPlan;

// Shapes of a small vision transformer.
const std::vector<ParameterShape> kShapes = {
    {"cls_token", 3},          {"embed.weight", 4},         {"blocks.0.attn.weight", 2},
    {"blocks.0.attn.bias", 1}, {"blocks.1.attn.weight", 2}, {"blocks.1.attn.bias", 1},
    {"norm.weight", 1},        {"head.weight", 2},          {"head.bias", 1}};

ParameterGroupPlan group(std::vector<std::string> match) {
  ParameterGroupPlan group;
  group.match = std::move(match);
  group.path = "optimizer.group.0";
  group.place = "run.toml:3:9";
  return group;
}

OptimizerPlan adamw(std::vector<ParameterGroupPlan> groups = {}) {
  OptimizerPlan plan;
  plan.rule = config::AdamPlan{};
  plan.weight_decay = 0.01;
  plan.groups = std::move(groups);
  plan.place = "run.toml:1:1";
  return plan;
}

std::map<std::string, ParameterRates> rates_by_name(const OptimizerPlan& plan) {
  const std::vector<ParameterRates> rates = assign_rates(plan, kShapes);
  std::map<std::string, ParameterRates> by_name;
  for (size_t i = 0; i < rates.size(); ++i) by_name[kShapes[i].name] = rates[i];
  return by_name;
}

std::string refusal_of(const OptimizerPlan& plan) {
  return find_error(support::ErrorKind::configuration, [&] { assign_rates(plan, kShapes); });
}

std::vector<NamedTensor> make_parameters() {
  return {{"body.weight", at::ones({2, 3}).requires_grad_()},
          {"head.weight", at::ones({2, 2}).requires_grad_()},
          {"head.bias", at::ones({2}).requires_grad_()}};
}

void set_gradients(const std::vector<NamedTensor>& parameters) {
  for (const NamedTensor& parameter : parameters)
    if (parameter.tensor.requires_grad()) parameter.tensor.mutable_grad() = at::ones_like(parameter.tensor);
}

TEST_CASE("only parameters with two or more dimensions are decayed, unless decay is set to all") {
  OptimizerPlan plan = adamw();
  CHECK(rates_by_name(plan).at("head.weight").weight_decay == 0.01);
  CHECK(rates_by_name(plan).at("cls_token").weight_decay == 0.01);
  CHECK(rates_by_name(plan).at("head.bias").weight_decay == 0);
  plan.decay = OptimizerPlan::Decay::all;
  CHECK(rates_by_name(plan).at("head.bias").weight_decay == 0.01);
}

TEST_CASE("the first matching group applies to a parameter") {
  ParameterGroupPlan head = group({"head.*", "embed.?eight"});
  head.lr_scale = 10;
  ParameterGroupPlan biases = group({"*.bias"});
  biases.lr_scale = 0.5;
  biases.weight_decay = 0.25;
  const auto rates = rates_by_name(adamw({head, biases}));
  CHECK(rates.at("head.bias").lr_scale == 10);
  CHECK(rates.at("head.bias").weight_decay == 0);
  CHECK(rates.at("embed.weight").lr_scale == 10);
  CHECK(rates.at("blocks.1.attn.bias").lr_scale == 0.5);
  CHECK(rates.at("blocks.1.attn.bias").weight_decay == 0.25);
  CHECK(rates.at("blocks.1.attn.weight").lr_scale == 1);
}

TEST_CASE("a pattern that matches no parameter is refused with the nearest name") {
  CHECK(refusal_of(adamw({group({"head.*", "blcks.1.*"})})) ==
        "run.toml:3:9: optimizer.group.0.match has \"blcks.1.*\", which matches no parameter of the model; expected a "
        "pattern of their names; did you mean \"blocks.1.*\"?");
  CHECK(refusal_of(adamw({group({"*.wieght"})})).ends_with("; did you mean \"*.weight\"?"));
  CHECK(refusal_of(adamw({group({"transformer*"})}))
            .ends_with("; the parameters are cls_token, embed.weight, "
                       "blocks.0.attn.weight, blocks.0.attn.bias, "
                       "blocks.1.attn.weight, blocks.1.attn.bias, norm.weight, "
                       "head.weight, ..."));
}

TEST_CASE("a run with every parameter frozen is refused") {
  ParameterGroupPlan all = group({"*"});
  all.frozen = true;
  const std::string message =
      "run.toml:3:9: [[optimizer.group]] freezes every parameter in the first epoch; expected at least one "
      "trainable parameter; match fewer of them";
  CHECK(refusal_of(adamw({all})) == message);
  all.frozen = false;
  all.frozen_epochs = 2;
  CHECK(refusal_of(adamw({all})) == message);
}

TEST_CASE("layers are numbered by the numbers in names, with unnumbered blocks around them") {
  std::vector<std::string> names;
  for (const ParameterShape& shape : kShapes) names.push_back(shape.name);
  CHECK(layer_depths(names) == std::vector<int64_t>{0, 0, 1, 1, 2, 2, 3, 3, 3});
  CHECK(layer_depths({"stem.0.weight", "stages.0.blocks.0.weight", "stages.0.blocks.1.weight", "stages.1.norm.weight",
                      "head.weight"}) == std::vector<int64_t>{0, 1, 1, 2, 3});
  CHECK(layer_depths({"conv1.weight", "bn1.weight", "layer1.0.conv.weight", "layer1.1.conv.weight", "fc.weight"}) ==
        std::vector<int64_t>{0, 0, 1, 2, 3});
  CHECK(layer_depths({"encoder.weight", "encoder.bias", "decoder.weight", "head.weight"}) ==
        std::vector<int64_t>{0, 0, 1, 2});
  CHECK(layer_depths({"layers.0.weight", "head.weight", "layers.0.bias"}) == std::vector<int64_t>{0, 1, 0});
}

TEST_CASE("layer_decay lowers the rate of each layer below that of the next, on top of a group's scale") {
  ParameterGroupPlan biases = group({"blocks.1.*.bias"});
  biases.lr_scale = 4;
  OptimizerPlan plan = adamw({biases});
  plan.layer_decay = 0.5;
  const auto rates = rates_by_name(plan);
  CHECK(rates.at("head.bias").lr_scale == 1);
  CHECK(rates.at("blocks.1.attn.weight").lr_scale == 0.5);
  CHECK(rates.at("blocks.1.attn.bias").lr_scale == 2);
  CHECK(rates.at("blocks.0.attn.weight").lr_scale == 0.25);
  CHECK(rates.at("cls_token").lr_scale == 0.125);
}

TEST_CASE("muon leaves non-matrices and parameters that match its patterns to adamw") {
  OptimizerPlan plan = adamw();
  config::MuonPlan muon;
  muon.adamw_lr_scale = 0.125;
  muon.adamw_weight_decay = 0.5;
  plan.rule = muon;
  const auto rates = rates_by_name(plan);
  CHECK_FALSE(rates.at("blocks.0.attn.weight").is_left_to_adamw);
  CHECK(rates.at("blocks.0.attn.weight").weight_decay == 0.01);
  for (const char* name : {"embed.weight", "head.weight", "cls_token"}) {
    CAPTURE(std::string(name));
    CHECK(rates.at(name).is_left_to_adamw);
    CHECK(rates.at(name).lr_scale == 0.125);
    CHECK(rates.at(name).weight_decay == 0.5);
  }
  muon.adamw_match = {"blocks.7.*"};
  plan.rule = muon;
  CHECK(refusal_of(plan).starts_with("run.toml:1:1: optimizer.adamw_match has \"blocks.7.*\", which matches no"));
}

TEST_CASE("each group uses a separate learning rate") {
  ParameterGroupPlan head = group({"head.*"});
  head.lr_scale = 0.5;
  OptimizerPlan plan = adamw({head});
  plan.rule = config::SgdPlan{};
  plan.weight_decay = 0;
  const auto optimizer = Optimizer::make(plan, make_parameters());
  set_gradients(optimizer->parameters());
  optimizer->step({0.25});
  CHECK(at::equal(optimizer->parameters()[0].tensor, at::full({2, 3}, 0.75)));
  CHECK(at::equal(optimizer->parameters()[1].tensor, at::full({2, 2}, 0.875)));
}

TEST_CASE("frozen parameters keep their values until their epoch, and then start with fresh state") {
  ParameterGroupPlan head = group({"head.*"});
  head.frozen_epochs = 2;
  const auto optimizer = Optimizer::make(adamw({head}), make_parameters());
  const at::Tensor weight = optimizer->parameters()[1].tensor;
  for (const int64_t epoch : {1, 2}) {
    optimizer->start_epoch(epoch);
    CHECK_FALSE(weight.requires_grad());
    CHECK(optimizer->parameters()[0].tensor.requires_grad());
    set_gradients(optimizer->parameters());
    optimizer->step({0.1});
    optimizer->zero_grad();
  }
  CHECK(at::equal(weight, at::ones({2, 2})));
  CHECK(optimizer->state().size() == 3);
  optimizer->start_epoch(3);
  CHECK(weight.requires_grad());
  set_gradients(optimizer->parameters());
  optimizer->step({0.1});
  CHECK_FALSE(at::equal(weight, at::ones({2, 2})));
  CHECK(optimizer->state().size() == 9);
}

TEST_CASE("a run resumed in a later epoch freezes the parameters of that epoch") {
  ParameterGroupPlan head = group({"head.*"});
  head.frozen_epochs = 2;
  ParameterGroupPlan body = group({"body.*"});
  body.frozen = true;
  ParameterGroupPlan first = head;
  first.match = {"head.bias"};
  first.frozen_epochs = 0;
  const auto optimizer = Optimizer::make(adamw({first, head, body}), make_parameters());
  optimizer->start_epoch(3);
  CHECK(optimizer->parameters()[1].tensor.requires_grad());
  CHECK_FALSE(optimizer->parameters()[0].tensor.requires_grad());
  optimizer->start_epoch(1);
  CHECK_FALSE(optimizer->parameters()[1].tensor.requires_grad());
}

TEST_CASE("the rates can be printed") {
  ParameterGroupPlan head = group({"head.*"});
  head.frozen_epochs = 3;
  head.lr_scale = 0.5;
  ParameterGroupPlan blocks = group({"blocks.*"});
  blocks.frozen = true;
  const std::string text = describe_rates(kShapes, assign_rates(adamw({head, blocks}), kShapes));
  CHECK(text.starts_with("cls_token: lr x 1, weight decay 0.01\nembed.weight: "));
  CHECK(text.find("\nblocks.0.attn.bias: frozen\n") != text.npos);
  CHECK(text.ends_with("\nhead.bias: lr x 0.5, weight decay 0, frozen in epochs 1 to 3"));
}

TEST_CASE("a loaded state continues like the saved one") {
  for (const auto& rule : {decltype(OptimizerPlan::rule)(config::AdamPlan{}),
                           decltype(OptimizerPlan::rule)(config::SgdPlan{.momentum = 0.9, .dampening = 0.5}),
                           decltype(OptimizerPlan::rule)(config::MuonPlan{})}) {
    OptimizerPlan plan = adamw();
    plan.rule = rule;
    const auto saved = Optimizer::make(plan, make_parameters());
    const auto resumed = Optimizer::make(plan, make_parameters());
    set_gradients(saved->parameters());
    saved->step({0.1});
    for (size_t i = 0; i < 3; ++i)
      resumed->parameters()[i].tensor.detach().copy_(saved->parameters()[i].tensor.detach());
    resumed->load_state(saved->state());
    for (const auto* optimizer : {saved.get(), resumed.get()}) {
      set_gradients(optimizer->parameters());
      const_cast<Optimizer*>(optimizer)->step({0.1});
    }
    for (size_t i = 0; i < 3; ++i) CHECK(at::equal(saved->parameters()[i].tensor, resumed->parameters()[i].tensor));
    REQUIRE(resumed->state().size() == saved->state().size());
    for (size_t k = 0; k < saved->state().size(); ++k)
      CHECK(at::equal(saved->state()[k].tensor, resumed->state()[k].tensor));
  }
}

TEST_CASE("a state of another optimizer is refused with the entry's name") {
  const auto optimizer = Optimizer::make(adamw(), make_parameters());
  const auto refusal = [&](const std::vector<NamedTensor>& state) -> std::string {
    return find_error(support::ErrorKind::checkpoint, [&] { optimizer->load_state(state); });
  };
  CHECK(refusal({{"tail.weight.step", at::zeros({})}})
            .starts_with("optimizer state tail.weight.step: does not belong to"));
  CHECK(refusal({{"head.bias.exp_avg", at::zeros({3})}}) ==
        "optimizer state head.bias.exp_avg: Float [3]; expected Float [2]; use a checkpoint of the same model and "
        "optimizer");
  CHECK(refusal({{"head.bias.exp_avg", at::zeros({2})}, {"head.bias.step", at::zeros({})}})
            .starts_with("optimizer state head.bias.exp_avg_sq: missing"));
}

}  // namespace
}  // namespace tenon::optimization::groups_test
