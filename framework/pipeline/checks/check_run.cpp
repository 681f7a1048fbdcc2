#include "framework/pipeline/checks/check_run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/pipeline/checks/check_data.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

using config::NamedDataset;
using config::Precision;

std::optional<std::string> find_slow_precision(const Training& training, bool has_bf16) {
  const config::TrainSection& train = training.plan->train;
  const bool is_bf16 = train.precision == Precision::bf16 || train.precision == Precision::bf16_true;
  if (!is_bf16 || has_bf16 || !training.device.is_cpu()) return std::nullopt;
  return fmt::format(
      "{}: train.precision is \"{}\", but this processor has no bf16 instructions: a run may be up to 100 times slower "
      "than with \"fp32\"; expected train.precision = \"fp32\", or a CUDA device",
      train.precision_place, to_string(train.precision));
}

// Parameters that change what the samples look like or how they are read, but not which samples there are.
constexpr std::array<std::string_view, 8> kLooks{"transforms", "scaled_decoding", "background",  "max_value",
                                                 "max_pixels", "cache",           "cache_bytes", "cache_dir"};

const std::string* find_split(const NamedDataset& dataset) {
  const auto found = dataset.params.find("split");
  return found == dataset.params.end() ? nullptr : std::get_if<std::string>(&found->second);
}

// A dataset without a split and without a text, such as a path, generates its samples, with other seeds for other data.
bool reads_samples(const NamedDataset& dataset) {
  return std::ranges::any_of(dataset.params, [](const auto& param) {
    return std::holds_alternative<std::string>(param.second) ||
           std::holds_alternative<std::vector<std::string>>(param.second);
  });
}

// Whether every sample of one dataset may be one of the other, before their subsets.
bool has_same_source(const NamedDataset& a, const NamedDataset& b) {
  if (a.use != b.use || !reads_samples(a)) return false;
  const std::string *split_a = find_split(a), *split_b = find_split(b);
  const bool has_all = split_a && split_b && (*split_a == "all" || *split_b == "all");
  return std::ranges::all_of(a.params, [&](const auto& param) {
    const auto& [name, value] = param;
    if (name.ends_with("_transforms") || std::ranges::find(kLooks, name) != kLooks.end()) return true;
    if (has_all && (name == "split" || name == "validation_fraction")) return true;
    const auto other = b.params.find(name);
    return other != b.params.end() && other->second == value;
  });
}

bool overlap(const config::Subset& a, const config::Subset& b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

// `kind`: "validation" or "test", the kind of the other data.
std::optional<std::string> find_trained_samples(const NamedDataset& train, const NamedDataset& other,
                                                const std::string& kind) {
  if (!has_same_source(train, other)) return std::nullopt;
  if (other.part == config::FoldPart::validation) return std::nullopt;
  const std::string *split = find_split(train), *other_split = find_split(other);
  const bool is_same_split = !split || !other_split || *split == *other_split;
  // Subsets of one list of samples are exact; those of a whole and of its part are independent.
  if (is_same_split && !overlap(train.subset, other.subset)) return std::nullopt;
  return fmt::format(
      "{}: {} has samples of the training data ({}), so its metrics do not show how the model does on new data; "
      "expected other samples: {} in the params of each, or subset = \"80%\" for training and \"80%-100%\" for {}",
      other.place, other.name, train.place, split ? "set another split" : "set another path", kind);
}

std::optional<std::string> find_large_batch(const Training& training) {
  const config::RunPlan& plan = *training.plan;
  const int64_t processes = training.group->size();
  const components::Dataset& dataset = training.train->feed.dataset();
  const data::Sampler& sampler = training.train->feed.sampler();
  if (sampler.size() >= plan.data.batch_size * processes) return std::nullopt;
  const int64_t largest = std::max<int64_t>(1, sampler.size() / processes);
  const std::string subset =
      sampler.size() < dataset.size() ? " in its subset " + config::to_string(plan.data.train.subset) : "";
  return fmt::format(
      "{}: data.batch_size is {}{}, but train has {}{}, so each epoch is one short batch; expected at most {}: set "
      "data.batch_size = {}",
      plan.data.train.place, plan.data.batch_size,
      processes > 1 ? fmt::format(" in each of {} processes", processes) : "",
      support::format_count(sampler.size(), "sample"), subset, largest, largest);
}

// As many classes with other names: their outputs fit, and would begin with those of other classes.
std::optional<std::string> find_other_classes(const Training& training) {
  const config::ModelSection& model = training.plan->model;
  if (model.weights.empty() || !model.weights_exclude.empty()) return std::nullopt;
  for (const auto& [field, known] : artifacts::read_class_names(model.weights)) {
    const auto found = training.train->feed.class_names().find(field);
    if (found == training.train->feed.class_names().end()) continue;
    if (found->second == known || found->second.size() != known.size()) continue;
    return model.place + ": model.weights is of a run with " + config::describe_classes(known) + " in " + field +
           ", but the training data have " + config::describe_classes(found->second) +
           ", so the outputs begin with those of other classes; expected the same names in the same order: set "
           "data.class_names if they are the same classes, or leave out the last layer with model.weights_exclude";
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> check_computation(const Training& training, bool has_bf16) {
  std::vector<std::string> warnings = check_class_counts(training);
  if (const auto found = find_slow_precision(training, has_bf16)) warnings.push_back(*found);
  return warnings;
}

std::vector<std::string> check_run(const Training& training, bool has_bf16) {
  std::vector<std::string> warnings = check_computation(training, has_bf16);
  const auto add = [&](const std::optional<std::string>& found) {
    if (found) warnings.push_back(*found);
  };
  for (const NamedDataset& validation : training.plan->data.validation)
    add(find_trained_samples(training.plan->data.train, validation, "validation"));
  for (const NamedDataset& test : training.plan->data.test)
    add(find_trained_samples(training.plan->data.train, test, "test"));
  add(find_large_batch(training));
  add(find_other_classes(training));
  check_vocabularies(training);
  return warnings;
}

}  // namespace tenon::pipeline
