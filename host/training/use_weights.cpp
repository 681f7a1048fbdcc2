#include "host/training/use_weights.h"

#include <tenon/draft/fitted_data.h>

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/components/kinds/dataset.h"
#include "framework/config/plan/compare_plans.h"
#include "framework/config/toml/value.h"
#include "framework/formats/class_names.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"

namespace tenon::host {

namespace {

bool has_fitted_data(const components::Component& dataset) {
  return components::extension_of<tenon_fitted_data>(dataset, TENON_FITTED_DATA) != nullptr;
}

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

void use_fitted_data(config::RunPlan& plan, const artifacts::FittedData& of_weights) {
  const auto use = [&](config::NamedDataset& dataset) {
    if (const auto found = of_weights.find(dataset.use); found != of_weights.end()) dataset.fitted = found->second;
  };
  use(plan.data.train);
  for (config::ScheduledDataset& later : plan.data.scheduled_train) use(later);
  for (auto* const datasets : {&plan.data.validation, &plan.data.test})
    for (config::NamedDataset& dataset : *datasets) use(dataset);
}

components::Dataset open_dataset(const components::Catalogue& catalogue, const config::NamedDataset& plan) {
  const components::Component& component = catalogue.find(config::ComponentKind::dataset, plan.use);
  components::prepare_dataset(component, plan);
  return {component, plan};
}

TrainingData describe_training_data(const components::Dataset& train, const config::ClassNames& names,
                                    const config::RunPlan& plan) {
  return {.numbering = {names, plan.data.class_names.empty() ? "the training data" : plan.data.class_names_source},
          .use = plan.data.train.use,
          .fitted = train.read_fitted_data()};
}

TrainingData open_training_data(const config::RunPlan& plan, const components::Catalogue& catalogue) {
  const components::Dataset train = open_dataset(catalogue, plan.data.train);
  const data::ClassNumbers classes(train, {plan.data.class_names, plan.data.class_names_source}, plan.data.train.place);
  return describe_training_data(train, classes.names(), plan);
}

void use_training_data(config::NamedDataset& dataset, const TrainingData& train) {
  if (dataset.use == train.use && dataset.fitted.empty()) dataset.fitted = train.fitted;
}

void use_training_data(config::NamedDataset& dataset, const config::RunPlan& plan,
                       const components::Catalogue& catalogue) {
  const config::NamedDataset& train = plan.data.train;
  if (dataset.name == train.name || dataset.use != train.use || !dataset.fitted.empty()) return;
  if (has_fitted_data(catalogue.find(config::ComponentKind::dataset, train.use)))
    use_training_data(dataset, open_training_data(plan, catalogue));
}

void report_unknown_fitted_data(const std::filesystem::path& weights, const config::NamedDataset& dataset,
                                const components::Catalogue& catalogue) {
  const components::Component& component = catalogue.find(config::ComponentKind::dataset, dataset.use);
  if (!dataset.fitted.empty() || !has_fitted_data(component)) return;
  support::log_warning(
      "{0}: does not have the vocabulary, columns or statistics of the {1} data that it was trained on, so {2} derives "
      "them from the data that it reads; expected weights of a run that trained on {1}: make sure that both have the "
      "same",
      weights.string(), dataset.use, dataset.name);
}

void compare_fitted_data(const std::filesystem::path& weights, const artifacts::FittedData& of_data) {
  if (weights.empty()) return;
  for (const auto& [dataset, bytes] : artifacts::read_fitted_data(weights)) {
    const auto found = of_data.find(dataset);
    if (found != of_data.end() && found->second != bytes)
      support::log_warning(
          "{}: was trained with another vocabulary, or other columns or statistics, of the {} data than the training "
          "data have, so its inputs had other meanings; expected the same, unless the layers that read them are "
          "trained again",
          weights.string(), dataset);
  }
}

artifacts::FoundWeights use_weights(const std::string& checkpoint, config::RunPlan& plan) {
  artifacts::FoundWeights weights = artifacts::find_weights(checkpoint, plan.run.output_dir, plan.run.name);
  // The initial weights are needed for the parameters that a checkpoint leaves out.
  if (artifacts::find_excluded_tensors(weights.file).tensors.empty()) plan.model.weights.clear();
  plan.model.checkpoint = weights.file;
  use_fitted_data(plan, artifacts::read_fitted_data(weights.file));
  return weights;
}

void use_class_names(config::RunPlan& plan, const config::ClassNames& of_weights, const std::string& source) {
  if (of_weights.empty()) return;
  for (const auto& [field, names] : plan.data.class_names) {
    const auto known = of_weights.find(field);
    if (known == of_weights.end() || known->second == names) continue;
    throw support::Error(support::ErrorKind::configuration,
                         "{}: data.class_names.{} has {}; expected those of {}, {}, in their order: remove the key, "
                         "because the weights know their classes",
                         plan.file.string(), config::to_toml_key(field), config::describe_classes(names), source,
                         config::describe_classes(known->second));
  }
  plan.data.class_names.insert(of_weights.begin(), of_weights.end());
  plan.data.class_names_source = source;
}

void compare_class_names(const std::filesystem::path& weights, const config::ClassNames& of_data) {
  if (weights.empty()) return;
  for (const auto& [field, names] : artifacts::read_class_names(weights)) {
    const auto found = of_data.find(field);
    if (found == of_data.end() || found->second == names || !std::ranges::is_permutation(found->second, names))
      continue;
    support::log_warning(
        "{}: numbers the classes of {} in another order, {}, than the data, {}; set data.class_names.{} to the order "
        "of the weights to keep the meaning of their outputs",
        weights.string(), field, config::describe_classes(names), config::describe_classes(found->second),
        config::to_toml_key(field));
  }
}

void report_number_order(const config::RunPlan& plan, const config::ClassNames& of_data) {
  for (const auto& [field, names] : of_data) {
    const auto as_text = formats::sort_numbers_as_text(names);
    if (!as_text || plan.data.class_names.contains(field) || formats::sort_names(names) != names) continue;
    const std::string order = fmt::format(
        "the classes of {} are numbers in the order of their values, {}; if these are in the order of the texts, {}, "
        "as of torchvision's ImageFolder, ",
        field, formats::list_briefly(names), formats::list_briefly(*as_text));
    const bool has_unnamed =
        !plan.model.weights.empty() && !artifacts::read_class_names(plan.model.weights).contains(field);
    if (has_unnamed)
      support::log_warning("{}: has no names of classes, and {}set data.class_names.{} to that order",
                           plan.model.weights.string(), order, config::to_toml_key(field));
    for (const config::LossPlan& loss : plan.losses) {
      const auto weights = loss.params.find("class_weights");
      const auto* const numbers =
          weights == loss.params.end() ? nullptr : std::get_if<std::vector<double>>(&weights->second);
      if (numbers && !numbers->empty())
        support::log_warning(loss.place + ": class_weights has a number for each class, and " + order + "reorder them");
    }
  }
}

void report_unnamed_classes(const std::string& weights, const config::ClassNames& of_weights,
                            const config::ClassNames& of_data) {
  for (const auto& [field, names] : of_data)
    if (!of_weights.contains(field))
      support::log_warning(
          "{}: has no names for the classes of {}, so they are numbered as the data number them: {}; set "
          "data.class_names.{} to the order that the weights were trained with",
          weights, field, config::describe_classes(names), config::to_toml_key(field));
}

void add_class_names(config::RunPlan& plan, const config::ClassNames& of_data) {
  constexpr size_t kMost = size_t{256} << 10;
  size_t bytes = 0;
  for (const auto& [field, names] : of_data)
    for (const std::string& name : names) bytes += name.size();
  if (bytes > kMost)
    support::log_info(
        "the names of classes have {} bytes; they are in the metadata of the weights, and not in plan.toml", bytes);
  else
    plan.data.class_names = of_data;
}

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
    throw support::Error(
        support::ErrorKind::configuration,
        "{}: data.subset_seed is {}; expected {} as in {}, because the folds of the weights depend on it",
        plan.file.string(), plan.data.subset_seed, seed, file.string());
  if (!plan.data.folds || !is_same(*plan.data.folds, folds))
    support::log_warning(
        "the weights were trained without fold {} of {} ({}); this replaces data.folds of the run file", folds.fold,
        folds.count, file.string());
  plan.data.folds = folds;
  for (config::NamedDataset& dataset : plan.data.validation) dataset.part = part_of(dataset);
}

}  // namespace tenon::host
