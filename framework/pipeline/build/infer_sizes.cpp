#include "framework/pipeline/build/infer_sizes.h"

#include <tenon/parameter_roles.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <variant>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/components/kinds/parameter_roles.h"
#include "framework/pipeline/build/batch_transforms.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::pipeline {

using components::SampleField;
using config::ComponentKind;
using support::Error;
using support::ErrorKind;

namespace {

constexpr size_t kImageDimensions = 3;
const std::string kData = "data.";
const std::string kModel = "model.";
const std::string kClasses = "classes";
const std::string kLengths = ".lengths";
const config::Interval kAny{1, std::numeric_limits<double>::infinity(), true, false};

// The fields that inputs = { ... } names.
std::vector<std::string> list_fields(const config::ComponentPlan& plan) {
  std::vector<std::string> fields;
  for (const auto& [input, source] : plan.inputs)
    if (source.starts_with(kData) && !source.ends_with(kLengths)) fields.push_back(source.substr(kData.size()));
  return fields;
}

void add_open(config::ComponentPlan& plan, const components::Component& component, const std::string& key,
              std::vector<OpenSize>& open) {
  for (const components::SizeParameter& size : components::list_size_parameters(component)) {
    const std::string& name = size.schema->name;
    if (std::ranges::find(plan.left_out, name) == plan.left_out.end()) continue;
    open.push_back({key + ".params." + name, size.role, &std::get<int64_t>(plan.params.at(name)),
                    size.schema->range.value_or(kAny), list_fields(plan), &plan.left_out, name});
  }
}

std::string name_element(const std::string& list, size_t index) { return list + "[" + std::to_string(index) + "]"; }

// The only element; nothing if there is none or if there are several.
std::optional<int64_t> only(const std::set<int64_t>& values) {
  return values.size() == 1 ? std::optional(*values.begin()) : std::nullopt;
}

bool is_chosen(const OpenSize& size, const std::string& field) {
  return size.fields.empty() || std::ranges::find(size.fields, field) != size.fields.end();
}

// Fields that losses or metrics read are targets, not inputs of the model.
std::set<std::string> list_targets(const config::RunPlan& plan) {
  std::set<std::string> targets;
  const auto add = [&](const config::ComponentPlan& component) {
    for (std::string& field : list_fields(component)) targets.insert(std::move(field));
  };
  std::ranges::for_each(plan.losses, add);
  std::ranges::for_each(plan.metrics, add);
  return targets;
}

// The number of classes of the fields that have any and for which `is_chosen` holds.
template <class IsChosen>
std::optional<int64_t> find_classes(const config::RunPlan& plan, const components::Dataset& data,
                                    const IsChosen& is_chosen) {
  std::set<int64_t> counts;
  for (const components::ClassList& list : data.classes()) {
    const std::string& field = data.fields()[list.field].name;
    if (!is_chosen(field)) continue;
    const auto named = plan.data.class_names.find(field);
    counts.insert(named == plan.data.class_names.end() ? list.count : static_cast<int64_t>(named->second.size()));
  }
  return only(counts);
}

// The fields that the run file connects a model to are its inputs, which seldom have the classes. Those of the losses
// and metrics have.
std::optional<int64_t> find_classes(const OpenSize& size, const config::RunPlan& plan,
                                    const components::Dataset& data) {
  const auto chosen = find_classes(plan, data, [&](const std::string& field) { return is_chosen(size, field); });
  if (chosen || !size.key.starts_with(kModel)) return chosen;
  const std::set<std::string> targets = list_targets(plan);
  return find_classes(plan, data, [&](const std::string& field) { return targets.empty() || targets.contains(field); });
}

// A number of each field that may be an input of the model: of floating-point numbers, or if the run file names only
// others, of those, which are converted.
template <class Count>
std::optional<int64_t> find_of_inputs(const OpenSize& size, const config::RunPlan& plan,
                                      const std::vector<SampleField>& fields, const Count& count) {
  const std::set<std::string> targets = list_targets(plan);
  std::set<int64_t> counts;
  const bool are_converted = !size.fields.empty() && std::ranges::none_of(fields, [&](const SampleField& field) {
    return is_chosen(size, field.name) && artifacts::is_floating_point(field.dtype);
  });
  for (const SampleField& field : fields) {
    if (!is_chosen(size, field.name)) continue;
    if (!are_converted && !artifacts::is_floating_point(field.dtype)) continue;
    if (size.fields.empty() && targets.contains(field.name)) continue;
    if (const std::optional<int64_t> counted = count(field)) counts.insert(*counted);
  }
  return only(counts);
}

std::optional<int64_t> count_channels(const SampleField& field) {
  return field.shape.size() == kImageDimensions && field.shape[0] > 0 ? std::optional(field.shape[0]) : std::nullopt;
}

std::optional<int64_t> count_values(const SampleField& field) {
  if (field.is_varying()) return std::nullopt;
  return static_cast<int64_t>(field.sample_bytes / field.element_bytes);
}

std::optional<int64_t> find_size(const OpenSize& size, const config::RunPlan& plan, const components::Dataset& dataset,
                                 const std::vector<SampleField>& fields) {
  switch (size.role) {
    case TENON_ROLE_CLASSES: return find_classes(size, plan, dataset);
    case TENON_ROLE_CHANNELS: return find_of_inputs(size, plan, fields, count_channels);
    case TENON_ROLE_FEATURES: return find_of_inputs(size, plan, fields, count_values);
    case TENON_ROLE_VOCABULARY:
      return dataset.tokenizer() ? std::optional(dataset.tokenizer()->vocabulary_size()) : std::nullopt;
    default: return std::nullopt;
  }
}

// Images are often stored as height x width x channels.
void warn_of_channels_last(const OpenSize& size, const std::vector<SampleField>& fields, int64_t channels) {
  constexpr int64_t kMost = 4;  // channels of an image with alpha
  for (const SampleField& field : fields) {
    if (!is_chosen(size, field.name) || count_channels(field) != channels || channels <= kMost) continue;
    const int64_t last = field.shape.back();
    if (last != 1 && last != 3 && last != kMost) continue;
    support::log_warning(
        "data.{} has samples of {} x {} x {} values, which looks like height x width x channels, and {} = {} is "
        "inferred; expected channels first: move them with numpy.moveaxis(array, -1, 1), or set {} if the first extent "
        "is meant",
        field.name, field.shape[0], field.shape[1], last, size.key, channels, size.key);
    return;
  }
}

void add_set(const OpenSize& size, std::optional<int64_t> found, std::vector<std::string>& set) {
  if (found && close(size, *found)) set.push_back(size.key + " = " + std::to_string(*found));
}

bool is_of_transform(const OpenSize& size) { return size.key.starts_with(kData); }

}  // namespace

std::vector<OpenSize> list_open_sizes(config::RunPlan& plan, const components::Catalogue& catalogue) {
  std::vector<OpenSize> open;
  for (size_t i = 0; i < plan.data.batch_transforms.size(); ++i) {
    auto* const mix = std::get_if<config::MixBatch>(&plan.data.batch_transforms[i].what);
    if (!mix || mix->classes != 0) continue;
    open.push_back({name_element("data.batch_transform", i) + "." + kClasses,
                    TENON_ROLE_CLASSES,
                    &mix->classes,
                    kAny,
                    {mix->label},
                    nullptr,
                    kClasses});
  }
  add_open(plan.model, catalogue.find(ComponentKind::model, plan.model.use), "model", open);
  for (size_t i = 0; i < plan.losses.size(); ++i)
    add_open(plan.losses[i], catalogue.find(ComponentKind::loss, plan.losses[i].use), name_element("loss", i), open);
  for (size_t i = 0; i < plan.metrics.size(); ++i)
    add_open(plan.metrics[i], catalogue.find(ComponentKind::metric, plan.metrics[i].use), name_element("metric", i),
             open);
  return open;
}

bool close(const OpenSize& size, int64_t value) {
  if (!size.range.contains(static_cast<double>(value))) return false;
  *size.value = value;
  if (size.left_out) std::erase(*size.left_out, size.parameter);
  return true;
}

std::vector<std::string> use_sizes_of_weights(config::RunPlan& plan, const components::Catalogue& catalogue,
                                              const artifacts::ModelSizes& sizes) {
  std::vector<std::string> set;
  for (const OpenSize& size : list_open_sizes(plan, catalogue)) {
    const auto found = sizes.find(size.parameter);
    if (size.left_out == &plan.model.left_out && found != sizes.end()) add_set(size, found->second, set);
  }
  return set;
}

std::vector<std::string> use_sizes_of_data(config::RunPlan& plan, const components::Catalogue& catalogue,
                                           const components::Dataset& dataset) {
  std::vector<std::string> set;
  const std::vector<OpenSize> open = list_open_sizes(plan, catalogue);
  // The transforms come first: the fields that they make have these sizes.
  for (const OpenSize& size : open) {
    if (!is_of_transform(size)) continue;
    add_set(size, find_classes(size, plan, dataset), set);
    if (*size.value == 0)
      throw Error(
          ErrorKind::configuration,
          "{}: {} is missing, and {} does not declare the number of classes of {}; expected an integer of at least 1",
          plan.file.string(), size.key, dataset.component().describe(), size.fields.front());
  }
  const BatchTransforms transforms(plan.data.batch_transforms, dataset.fields());
  for (const OpenSize& size : open) {
    if (is_of_transform(size)) continue;
    const std::optional<int64_t> found = find_size(size, plan, dataset, transforms.fields());
    if (size.role == TENON_ROLE_CHANNELS && found) warn_of_channels_last(size, transforms.fields(), *found);
    add_set(size, found, set);
  }
  return set;
}

void copy_sizes(const config::RunPlan& completed, config::RunPlan& plan) {
  plan.model.params = completed.model.params;
  for (size_t i = 0; i < plan.losses.size(); ++i) plan.losses[i].params = completed.losses[i].params;
  for (size_t i = 0; i < plan.metrics.size(); ++i) plan.metrics[i].params = completed.metrics[i].params;
  plan.data.batch_transforms = completed.data.batch_transforms;
}

artifacts::ModelSizes list_model_sizes(const config::ComponentPlan& plan, const components::Component& component) {
  artifacts::ModelSizes sizes;
  for (const components::SizeParameter& size : components::list_size_parameters(component))
    sizes[size.schema->name] = std::get<int64_t>(plan.params.at(size.schema->name));
  return sizes;
}

}  // namespace tenon::pipeline
