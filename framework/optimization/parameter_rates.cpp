#include "framework/optimization/parameter_rates.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::optimization {
namespace {

using support::Error;
using support::ErrorKind;

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const auto& pattern) { return matches(pattern, name); });
}

// The prefixes and last parts of the names, which patterns usually match: "stages", "stages.2", "bias".
std::vector<std::string> pieces_of(const std::vector<ParameterShape>& parameters) {
  std::set<std::string> pieces;
  for (const ParameterShape& parameter : parameters) {
    const std::string& name = parameter.name;
    for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      pieces.insert(name.substr(0, dot));
    pieces.insert(name);
    pieces.insert(name.substr(name.rfind('.') + 1));
  }
  return {pieces.begin(), pieces.end()};
}

// "head" of "*head.*".
std::string core_of(const std::string& pattern) {
  const size_t begin = pattern.find_first_not_of("*?.");
  if (begin == pattern.npos) return pattern;
  return pattern.substr(begin, pattern.find_last_not_of("*?.") - begin + 1);
}

std::string suggest(const std::string& pattern, const std::vector<ParameterShape>& parameters) {
  const std::string core = core_of(pattern);
  if (const auto near = formats::nearest_name(core, pieces_of(parameters))) {
    std::string better = pattern;
    const size_t at = pattern.find(core);
    return formats::did_you_mean_name(better.replace(at, core.size(), *near));
  }
  constexpr size_t kMaxShown = 8;
  std::string known;
  for (size_t i = 0; i < std::min(parameters.size(), kMaxShown); ++i)
    known += (known.empty() ? "; the parameters are " : ", ") + parameters[i].name;
  return parameters.size() > kMaxShown ? known + ", ..." : known;
}

void require_match(const std::string& pattern, const std::string& place, const std::string& key,
                   const std::vector<ParameterShape>& parameters) {
  if (std::ranges::any_of(parameters, [&](const auto& one) { return matches(pattern, one.name); })) return;
  throw Error(ErrorKind::configuration,
              "{}: {} has \"{}\", which matches no parameter of the model; expected a pattern of their names{}", place,
              key, pattern, suggest(pattern, parameters));
}

void require_matches(const config::OptimizerPlan& plan, const std::vector<ParameterShape>& parameters) {
  for (const config::ParameterGroupPlan& group : plan.groups)
    for (const std::string& pattern : group.match)
      require_match(pattern, group.place, group.path + ".match", parameters);
  const auto* muon = std::get_if<config::MuonPlan>(&plan.rule);
  if (muon == nullptr) return;
  // The default patterns need not match: they only apply to models with such names.
  const std::vector<std::string> usual = config::MuonPlan().adamw_match;
  for (const std::string& pattern : muon->adamw_match)
    if (std::ranges::find(usual, pattern) == usual.end())
      require_match(pattern, plan.place, "optimizer.adamw_match", parameters);
}

ParameterRates rates_of(const config::OptimizerPlan& plan, const ParameterShape& parameter) {
  ParameterRates rates;
  rates.weight_decay = plan.weight_decay;
  if (const auto* muon = std::get_if<config::MuonPlan>(&plan.rule)) {
    rates.is_left_to_adamw = parameter.dimensions != 2 || matches_any(muon->adamw_match, parameter.name);
    if (rates.is_left_to_adamw) {
      rates.lr_scale = muon->adamw_lr_scale;
      rates.weight_decay = muon->adamw_weight_decay;
    }
  }
  if (plan.decay == config::OptimizerPlan::Decay::matrices && parameter.dimensions < 2) rates.weight_decay = 0;
  for (const config::ParameterGroupPlan& group : plan.groups) {
    if (!matches_any(group.match, parameter.name)) continue;
    rates.lr_scale *= group.lr_scale;
    if (group.weight_decay) rates.weight_decay = *group.weight_decay;
    rates.frozen_epochs = group.frozen ? ParameterRates::kAlwaysFrozen : group.frozen_epochs;
    rates.freezes_batch_norm = group.eval_batch_norm;
    break;
  }
  return rates;
}

void scale_by_layer(double layer_decay, const std::vector<ParameterShape>& parameters,
                    std::vector<ParameterRates>& rates) {
  std::vector<std::string> names;
  for (const ParameterShape& parameter : parameters) names.push_back(parameter.name);
  const std::vector<int64_t> depths = layer_depths(names);
  const int64_t deepest = std::ranges::max(depths);
  for (size_t i = 0; i < rates.size(); ++i)
    rates[i].lr_scale *= std::pow(layer_decay, static_cast<double>(deepest - depths[i]));
}

struct Block {
  std::string name;
  bool has_number;
};

bool is_number(std::string_view part) { return !part.empty() && part.find_first_not_of("0123456789") == part.npos; }

Block block_of(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    if (is_number(std::string_view(name).substr(begin, end - begin))) return {name.substr(0, end), true};
    begin = end + 1;
  }
  return {name.substr(0, name.find('.')), false};
}

}  // namespace

std::vector<ParameterRates> assign_rates(const config::OptimizerPlan& plan,
                                         const std::vector<ParameterShape>& parameters) {
  require_matches(plan, parameters);
  std::vector<ParameterRates> rates;
  for (const ParameterShape& parameter : parameters) rates.push_back(rates_of(plan, parameter));
  if (plan.layer_decay != 1 && !rates.empty()) scale_by_layer(plan.layer_decay, parameters, rates);
  const bool trains = std::ranges::any_of(rates, [](const auto& rate) { return !rate.is_frozen(1); });
  if (!plan.groups.empty() && !trains)
    throw Error(ErrorKind::configuration,
                "{}: [[optimizer.group]] freezes every parameter in the first epoch; expected at least one trainable "
                "parameter; match fewer of them",
                plan.groups.front().place);
  return rates;
}

std::string describe_rates(const std::vector<ParameterShape>& parameters, const std::vector<ParameterRates>& rates) {
  std::string text;
  for (size_t i = 0; i < rates.size(); ++i) {
    const ParameterRates& rate = rates[i];
    text += (i > 0 ? "\n" : "") + parameters[i].name + ": ";
    text += rate.is_always_frozen() ? "frozen"
                                    : fmt::format("lr x {:g}, weight decay {:g}", rate.lr_scale, rate.weight_decay);
    if (rate.is_always_frozen()) continue;
    if (rate.is_left_to_adamw) text += ", by AdamW";
    if (rate.frozen_epochs > 0) text += fmt::format(", frozen in epochs 1 to {}", rate.frozen_epochs);
  }
  return text;
}

std::vector<int64_t> layer_depths(const std::vector<std::string>& names) {
  std::vector<Block> blocks;
  for (const std::string& name : names) blocks.push_back(block_of(name));
  const bool has_numbers = std::ranges::any_of(blocks, &Block::has_number);
  std::vector<int64_t> depths;
  std::map<std::string, int64_t> known;
  int64_t deepest = -1;
  bool may_share = false;  // the previous block has no number
  for (const Block& block : blocks) {
    const auto [entry, is_new] = known.emplace(block.name, 0);
    if (is_new) {
      if (!(may_share && has_numbers && !block.has_number)) ++deepest;
      entry->second = deepest;
      may_share = !block.has_number;
    }
    depths.push_back(entry->second);
  }
  return depths;
}

}  // namespace tenon::optimization
