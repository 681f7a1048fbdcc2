#include "host/training/use_folds.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "framework/artifacts/files/durable_file.h"
#include "framework/config/plan/flatten_plan.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"

namespace tenon::host {

namespace {

using FlatPlan = std::map<std::string, config::Node>;

int64_t integer_of(const FlatPlan& plan, const std::string& key) {
  const auto found = plan.find(key);
  const int64_t* const value = found == plan.end() ? nullptr : std::get_if<int64_t>(&found->second.value);
  return value ? *value : 0;
}

std::string text_of(const FlatPlan& plan, const std::string& key) {
  const auto found = plan.find(key);
  const std::string* const value = found == plan.end() ? nullptr : found->second.as_string();
  return value ? *value : "";
}

// Whether the dataset has the samples that the run divided. Only transforms and the cache may differ.
bool has_divided_samples(const FlatPlan& trained, const config::NamedDataset& dataset) {
  const std::string table = "data." + dataset.name;
  if (dataset.use != text_of(trained, table + ".use")) return false;
  if (config::to_string(dataset.subset) != text_of(trained, table + ".subset")) return false;
  return std::ranges::all_of(dataset.params, [&](const auto& param) {
    const std::string* const text = std::get_if<std::string>(&param.second);
    return !text || param.first.starts_with("cache") || *text == text_of(trained, table + ".params." + param.first);
  });
}

bool is_same(const config::FoldsSection& a, const config::FoldsSection& b) {
  return a.count == b.count && a.fold == b.fold && a.stratify == b.stratify && a.group == b.group;
}

}  // namespace

void use_folds(config::RunPlan& plan, const std::filesystem::path& weights) {
  const std::filesystem::path file = artifacts::find_folder_of(weights) / "plan.toml";
  if (!support::is_file(file)) return;
  const FlatPlan trained = config::flatten_plan(support::read_text(file), file.string());
  if (!trained.contains("data.folds.count")) return;
  const config::FoldsSection folds{integer_of(trained, "data.folds.count"), integer_of(trained, "data.folds.fold"),
                                   text_of(trained, "data.folds.stratify"), text_of(trained, "data.folds.group"),
                                   file.string()};
  const auto part_of = [&](const config::NamedDataset& dataset) {
    const bool is_train = dataset.name == "train";
    if ((!is_train && dataset.name != "validation") || !has_divided_samples(trained, dataset))
      return config::FoldPart::all;
    return is_train ? config::FoldPart::training : config::FoldPart::validation;
  };
  const bool reads_folds =
      std::ranges::any_of(plan.data.validation, [&](const auto& one) { return part_of(one) != config::FoldPart::all; });
  if (!reads_folds) return;
  const int64_t seed = integer_of(trained, "data.subset_seed");
  if (plan.data.subset_seed != static_cast<uint64_t>(seed))
    throw support::Error(support::ErrorKind::configuration, plan.file.string() + ": data.subset_seed is " +
                                                                std::to_string(plan.data.subset_seed) + "; expected " +
                                                                std::to_string(seed) + " as in " + file.string() +
                                                                ", because the folds of the weights depend on it");
  if (!plan.data.folds || !is_same(*plan.data.folds, folds))
    support::log_warning("the weights were trained without fold " + std::to_string(folds.fold) + " of " +
                         std::to_string(folds.count) + " (" + file.string() +
                         "); this replaces data.folds of the run file");
  plan.data.folds = folds;
  for (config::NamedDataset& dataset : plan.data.validation) dataset.part = part_of(dataset);
}

}  // namespace tenon::host
