#include "framework/pipeline/checks/check_data.h"

#include <torch/types.h>

#include <algorithm>
#include <optional>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

using support::Error;
using support::ErrorKind;

namespace {

constexpr const char* kNeverRight = ", so the others are never right; ";

// The classes of a field, as the dataset declares and the run numbers them.
struct Classes {
  std::string field;
  int64_t count;                           // the elements are below it
  const components::ClassList* list = {};  // null: only the run file names them
};

// A field that a loss compares with the classes of an output.
struct Target {
  Classes classes;
  const components::Port* output;
  int64_t outputs;  // number of classes of the output
  std::optional<int64_t> ignored;
};

// `field`: an index of the dataset's fields, or a larger one of a field that a batch transform adds.
std::optional<Classes> find_classes(const BoundDataset& data, size_t field) {
  const components::Dataset& dataset = data.feed.dataset();
  if (field >= dataset.fields().size()) return std::nullopt;
  Classes classes{dataset.fields()[field].name, 0};
  const auto list = std::ranges::find(dataset.classes(), field, &components::ClassList::field);
  if (list != dataset.classes().end()) classes.list = &*list;
  const auto names = data.feed.class_names().find(classes.field);
  if (names != data.feed.class_names().end())
    classes.count = static_cast<int64_t>(names->second.size());
  else if (classes.list)
    classes.count = classes.list->count;
  return classes.count > 0 ? std::optional(classes) : std::nullopt;
}

// The extent of an output by its port, or if that does not declare it, by its tensor; nothing for the other of the two.
std::optional<int64_t> find_extent(const components::Port& output, size_t dimension, const at::Tensor* tensor) {
  const auto& extents = output.shape.extents;
  const bool is_declared = !output.shape.any && dimension < extents.size() && extents[dimension].size;
  if (!tensor) return is_declared ? extents[dimension].size : std::nullopt;
  if (is_declared || static_cast<int64_t>(dimension) >= tensor->dim()) return std::nullopt;
  return tensor->size(static_cast<int64_t>(dimension));
}

std::vector<Target> list_targets(const Training& training, const BoundDataset& data, size_t loss,
                                 const std::vector<at::Tensor>* tensors) {
  std::vector<Target> targets;
  const std::vector<Source>& sources = data.losses[loss].sources();
  const std::vector<components::Port>& ports = training.losses[loss].inputs();
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!ports[i].indices || !ports[i].indices->dimension || sources[i].kind != Source::Kind::field) continue;
    const components::IndexRange::Dimension& dimension = *ports[i].indices->dimension;
    const Source& compared = sources[dimension.input];
    const std::optional<Classes> classes = find_classes(data, sources[i].index);
    if (!classes || compared.kind != Source::Kind::output) continue;
    const components::Port& output = training.model.outputs()[compared.index];
    const std::optional<int64_t> outputs =
        find_extent(output, dimension.dimension, tensors ? &tensors->at(compared.index) : nullptr);
    if (!outputs) continue;
    targets.push_back({*classes, &output, *outputs, ports[i].indices->ignore_index});
  }
  return targets;
}

// The model's parameter that sets the number of outputs: `classes`, or else the only one with this value.
std::optional<std::string> find_parameter(const config::Values& params, int64_t outputs) {
  const auto has_value = [&](const auto& param) {
    const auto* number = std::get_if<int64_t>(&param.second);
    return number && *number == outputs;
  };
  if (const auto classes = params.find("classes"); classes != params.end() && has_value(*classes)) return "classes";
  if (std::ranges::count_if(params, has_value) != 1) return std::nullopt;
  return std::ranges::find_if(params, has_value)->first;
}

std::string suggest(const Training& training, const Target& target) {
  const std::string count = std::to_string(target.classes.count);
  if (const auto parameter = find_parameter(training.plan->model.params, target.outputs))
    return fmt::format("expected {}: set model.params.{} = {}", count, config::to_toml_key(*parameter), count);
  return fmt::format("expected {}: change the parameters of the model", count);
}

// "the output logits of model "mlp" has 3 classes, but the label of train has 10".
std::string compare(const std::string& what, int64_t found, const BoundDataset& data, const Classes& classes) {
  return fmt::format("{} has {}, but the {} of {} has {}", what, support::format_count(found, "class", "classes"),
                     classes.field, data.name(), classes.count);
}

std::string describe(const Training& training, const BoundDataset& data, const Target& target) {
  return compare(training.plan->model.place + ": the output " + target.output->name + " of " +
                     training.model.component().describe(),
                 target.outputs, data, target.classes);
}

void require_outputs(const Training& training, const BoundDataset& data, const Target& target) {
  int64_t needed = target.classes.count;
  if (target.ignored == needed - 1) --needed;
  if (target.outputs >= needed) return;
  throw Error(ErrorKind::configuration, "{}, so the loss fails on the others; {}", describe(training, data, target),
              suggest(training, target));
}

std::optional<std::string> find_fault(const Training& training, const Target& target) {
  const components::ClassList* const list = target.classes.list;
  if (list && list->count == 1)
    return training.plan->data.train.place + ": the " + target.classes.field + " of " + training.train->name() +
           " has one class" + (list->names.empty() ? "" : " (" + config::list_classes(list->names) + ")") +
           ", so there is nothing to learn; expected at least 2: check the parameters of the dataset";
  if (target.outputs > target.classes.count)
    return describe(training, *training.train, target) + kNeverRight + suggest(training, target);
  return std::nullopt;
}

std::optional<std::string> check_mix(const Training& training, const config::BatchTransformPlan& transform) {
  const auto* const mix = std::get_if<config::MixBatch>(&transform.what);
  if (!mix) return std::nullopt;
  const BoundDataset& data = *training.train;
  const auto& fields = data.feed.dataset().fields();
  const auto label = std::ranges::find(fields, mix->label, &components::SampleField::name);
  const std::optional<Classes> classes = find_classes(data, static_cast<size_t>(label - fields.begin()));
  if (!classes || classes->count == mix->classes) return std::nullopt;
  const std::string found = compare(transform.place + ": mix", mix->classes, data, *classes);
  const std::string expected = "expected classes = " + std::to_string(classes->count);
  if (mix->classes < classes->count) throw Error(ErrorKind::configuration, "{}; {}", found, expected);
  return found + kNeverRight + expected;
}

std::optional<std::string> find_single_class(const std::string& name, const at::Tensor& field, int64_t ignored,
                                             const std::string& loss) {
  constexpr int64_t kPerPixel = 3;  // [N, H, W]; padded sequences of tokens may well hold one token
  if (field.dim() < kPerPixel) return std::nullopt;
  const at::Tensor kept = field.masked_select(field != ignored);
  if (kept.numel() == 0 || kept.numel() == field.numel()) return std::nullopt;
  const auto single = kept.min().item<int64_t>();
  if (kept.max().item<int64_t>() != single) return std::nullopt;
  const std::string number = std::to_string(ignored);
  return fmt::format(
      "{} holds only {} and {} in the first batch, and {} ignores {}, so there is one class to learn; is {} a class? "
      "then give it the number of that class in the data, and remove ignore_index; expected at least two classes",
      name, single, number, loss, number, number);
}

using components::Tokenizer;

// A vocabulary may have millions of tokens.
constexpr int64_t kMostCompared = 1 << 16;

std::string quote(const std::string& text) { return text.empty() ? "none" : config::to_toml(text); }

std::optional<std::string> find_difference(const Tokenizer& trained, const Tokenizer& other) {
  if (other.vocabulary_size() != trained.vocabulary_size())
    return fmt::format("has a vocabulary of {}, and train of {}",
                       support::format_count(other.vocabulary_size(), "token"), trained.vocabulary_size());
  for (int64_t token = 0; token < std::min(trained.vocabulary_size(), kMostCompared); ++token) {
    const std::string a = trained.decode({&token, 1}), b = other.decode({&token, 1});
    if (a != b) return fmt::format("has the text {} for the token {}, and train {}", quote(b), token, quote(a));
  }
  return std::nullopt;
}

void compare(const BoundDataset& train, const BoundDataset& other, const std::string& place) {
  const auto &trained = train.feed.dataset().tokenizer(), &found = other.feed.dataset().tokenizer();
  if (!trained || !found) return;
  const auto difference = find_difference(*trained, *found);
  if (!difference) return;
  throw support::Error(support::ErrorKind::configuration,
                       "{}: {} {}; expected the same tokens: set the tokenizer of both to the same file", place,
                       other.name(), *difference);
}

}  // namespace

std::vector<std::string> check_class_counts(const Training& training, const std::vector<at::Tensor>* outputs) {
  std::vector<std::string> warnings;
  const auto add = [&](const std::optional<std::string>& found) {
    if (found && std::ranges::find(warnings, *found) == warnings.end()) warnings.push_back(*found);
  };
  if (!outputs)
    for (const config::BatchTransformPlan& transform : training.plan->data.batch_transforms)
      add(check_mix(training, transform));
  for (size_t loss = 0; loss < training.losses.size(); ++loss) {
    for (const Target& target : list_targets(training, *training.train, loss, outputs)) {
      require_outputs(training, *training.train, target);
      add(find_fault(training, target));
    }
    for (const auto* others : {&training.validation, &training.test})
      for (const auto& data : *others)
        for (const Target& target : list_targets(training, *data, loss, outputs))
          require_outputs(training, *data, target);
  }
  return warnings;
}

std::vector<std::string> check_targets(const Training& training, const BatchTensors& batch_tensors) {
  std::vector<std::string> warnings;
  const BoundDataset& data = *training.train;
  for (size_t loss = 0; loss < training.losses.size(); ++loss) {
    const std::vector<Source>& sources = data.losses[loss].sources();
    const std::vector<components::Port>& ports = training.losses[loss].inputs();
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!ports[i].indices || !ports[i].indices->ignore_index || sources[i].kind != Source::Kind::field) continue;
      if (sources[i].index >= batch_tensors.host_fields.size()) continue;  // made by a batch transform
      const at::Tensor& field = batch_tensors.host_fields[sources[i].index];
      if (!at::isIntegralType(field.scalar_type(), /*includeBool=*/false)) continue;
      if (auto found = find_single_class(data.name() + ": " + sources[i].name, field, *ports[i].indices->ignore_index,
                                         training.losses[loss].component().describe()))
        warnings.push_back(std::move(*found));
    }
  }
  return warnings;
}

void check_vocabularies(const Training& training) {
  const config::DataSection& plan = training.plan->data;
  for (size_t i = 0; i < training.validation.size(); ++i)
    compare(*training.train, *training.validation[i], plan.validation[i].place);
  for (size_t i = 0; i < training.test.size(); ++i) compare(*training.train, *training.test[i], plan.test[i].place);
  for (size_t i = 0; i < training.scheduled_train.size(); ++i)
    compare(*training.train, *training.scheduled_train[i].dataset, plan.scheduled_train[i].place);
}

}  // namespace tenon::pipeline
