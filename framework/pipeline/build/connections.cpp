#include "framework/pipeline/build/connections.h"

#include <ATen/Dispatch.h>
#include <torch/types.h>

#include <algorithm>
#include <span>

#include "framework/components/kinds/dataset.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/formats/nearest_name.h"
#include "framework/pipeline/build/training.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

using components::Port;
using components::SampleField;
using support::Error;
using support::ErrorKind;

namespace {

constexpr uint64_t kFloat32 = TENON_DTYPE_BIT(TENON_FLOAT32);
constexpr uint64_t kInt64 = TENON_DTYPE_BIT(TENON_INT64);
constexpr uint64_t kBytes = TENON_DTYPE_BIT(TENON_UINT8);

// A possible source of an input.
struct Candidate {
  std::string name;  // "data.image", "model.logits"
  Source::Kind kind;
  size_t index;
  components::ShapePattern shape;
  uint64_t dtypes;
};

std::vector<Candidate> field_candidates(const std::vector<SampleField>& fields) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < fields.size(); ++i) {
    const SampleField& field = fields[i];
    components::ShapePattern shape = components::sample_pattern(field);
    shape.extents.insert(shape.extents.begin(), {std::nullopt, "N"});
    candidates.push_back({"data." + field.name, Source::Kind::field, i, shape, TENON_DTYPE_BIT(field.dtype)});
  }
  return candidates;
}

// The lengths of fields with extents that differ between samples.
std::vector<Candidate> lengths_candidates(const std::vector<SampleField>& fields) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < fields.size(); ++i) {
    const int64_t varying = std::ranges::count(fields[i].shape, -1);
    if (varying == 0) continue;
    components::ShapePattern shape;
    shape.extents.push_back({std::nullopt, "N"});
    if (varying > 1) shape.extents.push_back({varying, ""});
    candidates.push_back({"data." + fields[i].name + ".lengths", Source::Kind::lengths, i, shape, kInt64});
  }
  return candidates;
}

// The results of the model, and the lengths of those that are lists.
std::vector<Candidate> result_candidates(const components::Model& model) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < model.results().size(); ++i) {
    const components::ModelResult& result = model.results()[i];
    components::ShapePattern shape, lengths;
    shape.extents.push_back({std::nullopt, "N"});
    shape.open_ended = true;
    lengths.extents.push_back({std::nullopt, "N"});
    candidates.push_back({"result." + result.name, Source::Kind::result, i, shape, TENON_ANY_DTYPE});
    if (result.is_list)
      candidates.push_back({"result." + result.name + ".lengths", Source::Kind::result_lengths, i, lengths, kInt64});
  }
  return candidates;
}

std::vector<int64_t> find_varying(const SampleField& field) {
  std::vector<int64_t> varying;
  for (size_t d = 0; d < field.shape.size(); ++d)
    if (field.shape[d] == -1) varying.push_back(static_cast<int64_t>(d) + 1);
  return varying;
}

std::vector<Candidate> output_candidates(const components::Model& model) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    const Port& port = model.outputs()[i];
    candidates.push_back({"model." + port.name, Source::Kind::output, i, port.shape, port.dtypes});
  }
  return candidates;
}

bool has_varying_fields(const std::vector<SampleField>& fields) {
  return std::ranges::any_of(fields, &SampleField::is_varying);
}

std::string describe(const Candidate& candidate) {
  return candidate.name + ": " + components::describe_dtypes(candidate.dtypes) + " " + to_string(candidate.shape);
}

// Which conversions of a field are allowed: those within integers or within floating-point numbers, or all.
enum class Conversion { none, widening, any };

bool holds_image_bytes(const Candidate& candidate) {
  constexpr size_t kImage = 3;  // dimensions of a sample
  return candidate.dtypes == kBytes && candidate.shape.extents.size() > kImage;
}

// The dtype that a field is converted to for the port, as a bit; 0: none is needed, or none is allowed. Models have
// weights of float32, so other floating-point numbers become float32 even where the port takes any.
uint64_t find_conversion(const Candidate& candidate, const Port& port, Conversion allowed) {
  if (candidate.kind != Source::Kind::field) return 0;
  if ((candidate.dtypes & TENON_ANY_FLOAT) != 0)
    return candidate.dtypes != kFloat32 && (port.dtypes & kFloat32) != 0 && port.dtypes != TENON_ANY_DTYPE ? kFloat32
                                                                                                           : 0;
  const bool fits = port.dtypes == TENON_ANY_DTYPE || (port.dtypes & candidate.dtypes) != 0;
  if (fits || allowed == Conversion::none) return 0;
  if ((port.dtypes & kInt64) != 0) return kInt64;
  return allowed == Conversion::any && (port.dtypes & kFloat32) != 0 && !holds_image_bytes(candidate) ? kFloat32 : 0;
}

std::string bare_name(const Candidate& candidate) { return candidate.name.substr(candidate.name.find('.') + 1); }

// Finds the source of each input of one component.
class Connector {
 public:
  // `groups`: the candidates, and then those of `fields`; earlier groups are preferred.
  Connector(const std::vector<Port>& inputs, std::string owner, const config::ComponentPlan& plan,
            const std::vector<SampleField>& fields, std::vector<std::vector<Candidate>> groups = {},
            const components::Model* with_results = nullptr)
      : inputs_(inputs), owner_(std::move(owner)), plan_(plan), fields_(fields), groups_(std::move(groups)) {
    groups_.push_back(field_candidates(fields));
    named_ = lengths_candidates(fields);
    if (with_results)
      for (Candidate& candidate : result_candidates(*with_results)) named_.push_back(std::move(candidate));
  }

  std::vector<Source> connect() {
    check_names();
    std::vector<Source> sources;
    std::string text;
    for (const Port& port : inputs_) {
      const Candidate& found = find(port);
      taken_.emplace(found.name, port.name);
      const uint64_t dtype = find_conversion(found, port, Conversion::any);
      const at::ScalarType converted = dtype == kInt64 ? at::kLong : at::kFloat;
      sources.push_back({found.kind, found.index, found.name, dtype == 0 ? std::nullopt : std::optional(converted)});
      if (found.kind == Source::Kind::lengths) sources.back().varying = find_varying(fields_[found.index]);
      text += fmt::format("{}{} = {}{}", text.empty() ? "" : ", ", port.name, found.name,
                          dtype == 0 ? "" : " as " + components::describe_dtypes(dtype));
    }
    support::log_debug("inputs of {}: {}", owner_, text);
    return sources;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::configuration, "{}: {}: {}", plan_.place, owner_, what);
  }

  // The first candidate for which the condition holds; null: none.
  template <class Condition>
  const Candidate* find_candidate(const Condition& condition) const {
    for (const auto& group : groups_)
      for (const Candidate& candidate : group)
        if (condition(candidate)) return &candidate;
    return nullptr;
  }

  // The same among those that are found by name alone, too.
  template <class Condition>
  const Candidate* find_named(const Condition& condition) const {
    if (const Candidate* const found = find_candidate(condition)) return found;
    const auto named = std::ranges::find_if(named_, condition);
    return named == named_.end() ? nullptr : &*named;
  }

  std::vector<std::string> candidate_names() const {
    std::vector<std::string> names;
    for (const auto& group : groups_)
      for (const Candidate& candidate : group) names.push_back(candidate.name);
    for (const Candidate& candidate : named_) names.push_back(candidate.name);
    return names;
  }

  void check_names() const {
    std::vector<std::string> known;
    for (const Port& port : inputs_) known.push_back(port.name);
    for (const auto& [name, source] : plan_.inputs)
      if (std::ranges::find(known, name) == known.end())
        refuse(fmt::format("inputs names the port \"{}\", which this component does not have{}", name,
                           formats::suggest_name(name, known)));
  }

  std::optional<std::string> mismatch(const Candidate& candidate, const Port& port, components::Extents& extents,
                                      Conversion allowed) const {
    const uint64_t converted = find_conversion(candidate, port, allowed);
    return components::find_mismatch(candidate.shape, converted == 0 ? candidate.dtypes : converted, port, extents);
  }

  bool is_free(const Candidate& candidate) const { return !taken_.contains(candidate.name); }

  bool fits(const Candidate& candidate, const Port& port, Conversion allowed) const {
    components::Extents extents = extents_;
    return !mismatch(candidate, port, extents, allowed);
  }

  // Images are bytes until they are normalised.
  std::string suggest_fix(const Candidate& candidate, const Port& port) const {
    const bool is_field = candidate.kind == Source::Kind::field;
    if (is_field && !holds_image_bytes(candidate) && find_conversion(candidate, port, Conversion::any) != 0)
      return fmt::format("; to convert it, write inputs = {{ {} = \"{}\" }}", port.name, candidate.name);
    if (is_field && (candidate.dtypes & TENON_ANY_FLOAT) != 0 && port.dtypes == kInt64)
      return "; store whole numbers in the data, for example with NumPy's astype(\"int64\"), or change its source";
    return is_field && holds_image_bytes(candidate) && (port.dtypes & kBytes) == 0
               ? "; add \"normalize()\" at the end of the transforms of the dataset, or a "
                 "[[data.batch_transform]] with use = \"normalize\""
               : "; change the parameters of " + plan_.use + " or its source (`host describe " + plan_.use +
                     "` lists them)";
  }

  const Candidate& accept(const Candidate& candidate, const Port& port, Conversion allowed) {
    components::Extents extents = extents_;
    if (const auto reason = mismatch(candidate, port, extents, allowed))
      refuse(fmt::format("the input {} does not fit its source {}: {}{}", port.describe(), describe(candidate), *reason,
                         suggest_fix(candidate, port)));
    extents_ = std::move(extents);
    return candidate;
  }

  const Candidate& find(const Port& port) {
    if (const auto named = plan_.inputs.find(port.name); named != plan_.inputs.end()) {
      const auto is_named = [&](const Candidate& candidate) { return candidate.name == named->second; };
      if (const Candidate* const found = find_named(is_named)) return accept(*found, port, Conversion::any);
      refuse(fmt::format("inputs.{} is \"{}\", which does not exist{}", port.name, named->second,
                         formats::suggest_name(named->second, candidate_names())));
    }
    const auto has_name = [&](const Candidate& candidate) { return bare_name(candidate) == port.name; };
    const Candidate* found = find_named(has_name);
    for (const std::string& usual : port.usual_sources) {
      if (found) break;
      found = find_named([&](const Candidate& candidate) {
        return (bare_name(candidate) == usual || candidate.name == usual) && is_free(candidate) &&
               fits(candidate, port, Conversion::widening);
      });
    }
    return found ? accept(*found, port, Conversion::widening) : find_only_fitting(port);
  }

  // Whether a source fits as it is. Others are then not converted, so that they do not compete with it.
  bool has_fitting(const Port& port) const {
    return find_candidate(
        [&](const Candidate& candidate) { return is_free(candidate) && fits(candidate, port, Conversion::none); });
  }

  const Candidate& find_only_fitting(const Port& port) {
    std::string reasons;
    bool fits_several = false;
    const Conversion allowed = has_fitting(port) ? Conversion::none : Conversion::widening;
    for (const auto& group : groups_) {
      std::vector<const Candidate*> fitting;
      for (const Candidate& candidate : group) {
        components::Extents extents = extents_;
        const auto reason = mismatch(candidate, port, extents, allowed);
        // The target of a prediction is not the prediction itself, even if it fits.
        if (const auto taken = taken_.find(candidate.name); !reason && taken != taken_.end()) {
          reasons += fmt::format("\n    {} is already connected to the input {}", describe(candidate), taken->second);
          continue;
        }
        if (!reason) fitting.push_back(&candidate);
        reasons += fmt::format("\n    {}{}", describe(candidate), reason ? " does not fit: " + *reason : " fits");
      }
      if (fitting.size() == 1) return accept(*fitting.front(), port, allowed);
      fits_several = fitting.size() > 1;
      if (fits_several) break;
    }
    if (fits_several)
      refuse("the input " + port.describe() + " fits several sources, and none has its name:" + reasons +
             "\n  choose one with inputs = { " + port.name + " = \"...\" }");
    refuse("the input " + port.describe() + " fits no source:" + reasons +
           "\n  use a component that provides it, or change the parameters of one of them");
  }

  const std::vector<Port>& inputs_;
  std::string owner_;
  const config::ComponentPlan& plan_;
  const std::vector<SampleField>& fields_;
  std::vector<std::vector<Candidate>> groups_;
  std::vector<Candidate> named_;  // these do not compete with others
  components::Extents extents_;
  std::map<std::string, std::string> taken_;  // a source's name -> the first input connected to it
};

// Whether the source is a field as the dataset returned it: batch transforms keep the dtype of integer fields only if
// they do not change them.
bool is_host_field(const BatchTensors& batch_tensors, const Source& source) {
  return source.kind == Source::Kind::field && source.index < batch_tensors.host_fields.size() &&
         batch_tensors.host_fields[source.index].scalar_type() == batch_tensors.fields[source.index].scalar_type();
}

template <class Integer>
std::optional<int64_t> find_outside(std::span<const Integer> elements, int64_t limit, std::optional<int64_t> ignored) {
  const auto is_outside = [&](Integer element) {
    const auto index = static_cast<int64_t>(element);
    return static_cast<uint64_t>(index) >= static_cast<uint64_t>(limit) && index != ignored;
  };
  // Without an early exit, the compiler vectorises the loop.
  bool found = false;
  for (const Integer element : elements) found |= is_outside(element);
  if (!found) return std::nullopt;
  return std::ranges::find_if(elements, is_outside) - elements.begin();
}

// The position of the first element that is neither in [0, limit) nor `ignored`.
std::optional<int64_t> find_outside(const at::Tensor& field, int64_t limit, std::optional<int64_t> ignored) {
  std::optional<int64_t> place;
  AT_DISPATCH_INTEGRAL_TYPES(field.scalar_type(), "find_outside", [&] {
    place =
        find_outside(std::span(field.const_data_ptr<scalar_t>(), static_cast<size_t>(field.numel())), limit, ignored);
  });
  return place;
}

// If a batch holds as many numbers as there are classes, but others, such as 0 and 255.
std::string suggest_numbering(const at::Tensor& field, int64_t limit) {
  constexpr int64_t kMost = 16;
  const at::Tensor numbers = std::get<0>(at::_unique2(field.to(at::kLong)));
  if (limit > kMost || numbers.numel() != limit || limit < 2) return "";
  std::string found;
  for (int64_t i = 0; i < limit; ++i)
    found += (i == 0 ? "" : i + 1 == limit ? " and " : ", ") + std::to_string(numbers[i].item<int64_t>());
  return "; the batch holds only " + found + ": if they stand for the " + std::to_string(limit) +
         " classes in this order, number them from 0 in the data";
}

}  // namespace

BatchTensors view_batch(const data::Batch& batch, const std::vector<SampleField>& fields) {
  BatchTensors batch_tensors;
  for (size_t i = 0; i < batch.fields.size(); ++i) {
    const data::Batch::Field& field = batch.fields[i];
    batch_tensors.fields.push_back(at::from_blob(field.data, field.shape, components::to_scalar_type(fields[i].dtype)));
    batch_tensors.lengths.push_back(
        field.lengths.empty() ? at::Tensor() : at::tensor(field.lengths, at::kLong).reshape({batch.size, -1}));
  }
  return batch_tensors;
}

at::Tensor Source::take(const BatchTensors& batch_tensors) const {
  if (kind == Kind::output) return batch_tensors.outputs[index];
  if (kind == Kind::result) return batch_tensors.results.values[index];
  if (kind == Kind::result_lengths) return batch_tensors.results.lengths[index];
  const at::Tensor& field = batch_tensors.fields[index];
  if (kind == Kind::field) return dtype ? field.to(*dtype) : field;
  at::Tensor lengths;
  if (index < batch_tensors.lengths.size()) {
    lengths = batch_tensors.lengths[index];
  } else {
    std::vector<int64_t> extents;
    for (const int64_t dimension : varying) extents.push_back(field.size(dimension));
    lengths = at::tensor(extents, at::kLong).expand({field.size(0), -1});
  }
  if (varying.size() == 1) lengths = lengths.squeeze(1);
  // Pinned memory is copied without waiting for the device.
  return field.is_cuda() ? lengths.pin_memory().to(field.device(), /*non_blocking=*/true) : lengths;
}

at::Tensor find_sample_shapes(const BatchTensors& batch_tensors, size_t index, const SampleField& field) {
  if (index >= batch_tensors.lengths.size() || !batch_tensors.lengths[index].defined()) return {};
  const at::Tensor& batch = batch_tensors.fields[index];
  at::Tensor shapes = at::tensor(batch.sizes().slice(1), at::kLong).repeat({batch.size(0), 1});
  const std::vector<int64_t> varying = find_varying(field);
  for (size_t k = 0; k < varying.size(); ++k)
    shapes.select(1, varying[k] - 1).copy_(batch_tensors.lengths[index].select(1, static_cast<int64_t>(k)));
  return shapes;
}

at::Tensor find_result_shapes(const BatchTensors& batch_tensors, size_t index) {
  const at::Tensor& lengths = batch_tensors.results.lengths[index];
  if (!lengths.defined()) return {};
  const at::Tensor& values = batch_tensors.results.values[index];
  at::Tensor shapes = at::tensor(values.sizes().slice(1), at::kLong).repeat({values.size(0), 1});
  shapes.select(1, 0).copy_(lengths);
  const at::Tensor rows = shapes.select(1, 0);
  if (rows.lt(0).logical_or(rows.gt(values.size(1))).any().item<bool>())
    throw Error(ErrorKind::plugin, "result {} of the model has a length outside of 0 to {}, its number of rows", index,
                values.size(1));
  return shapes;
}

components::ComputedResults compute_results(const components::Model& model, const std::vector<at::Tensor>& outputs,
                                            const components::StepContext& context) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> detached;
  for (const at::Tensor& output : outputs) detached.push_back(output.detach());
  return model.compute_results(context, detached);
}

std::string name_result(const components::ModelResult& result, const std::vector<SampleField>& fields) {
  const bool is_taken = std::ranges::find(fields, result.name, &SampleField::name) != fields.end();
  return is_taken ? "predicted " + result.name : result.name;
}

at::Tensor take_sample(const at::Tensor& batch, const at::Tensor& shapes, int64_t row) {
  at::Tensor sample = batch.select(0, row);
  for (int64_t d = 0; shapes.defined() && d < sample.dim(); ++d)
    sample = sample.narrow(d, 0, shapes[row][d].item<int64_t>());
  return sample;
}

std::vector<at::Tensor> Wiring::gather(const BatchTensors& batch_tensors) {
  std::vector<at::Tensor> inputs;
  inputs.reserve(sources_.size());
  for (const Source& source : sources_) inputs.push_back(source.take(batch_tensors));
  if (!checked_ || shapes_vary_) check(inputs);
  checked_ = true;
  if (shapes_vary_) refuse_padding(batch_tensors);
  check_indices(batch_tensors, inputs);
  return inputs;
}

// Lists of class numbers look like numbers to predict. Padding would become targets, and class 0.
void Wiring::refuse_padding(const BatchTensors& batch_tensors) const {
  const auto is_output = [](const Source& source) { return source.kind == Source::Kind::output; };
  if (!batch_tensors.batch || std::ranges::none_of(sources_, is_output)) return;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].kind != Source::Kind::field || sources_[i].index >= batch_tensors.batch->fields.size()) continue;
    const bool are_integers =
        at::isIntegralType(batch_tensors.fields[sources_[i].index].scalar_type(), /*includeBool=*/true);
    const bool are_numbers = !ports_[i].indices && (ports_[i].dtypes & TENON_ANY_FLOAT) != 0;
    if (!are_integers || !are_numbers || !batch_tensors.batch->fields[sources_[i].index].is_padded) continue;
    throw Error(ErrorKind::data,
                "{}: its input {} is {}, lists of integers of different lengths, which were padded; expected as many "
                "numbers in each sample; if they are the classes of a sample, make them multi-hot, with the parameter "
                "\"multi_hot\" of parquet or \"label_separator\" of tables",
                owner_, ports_[i].name, sources_[i].name);
  }
}

void Wiring::check_indices(const BatchTensors& batch_tensors, const std::vector<at::Tensor>& inputs) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const auto& indices = ports_[i].indices;
    if (!indices || !is_host_field(batch_tensors, sources_[i])) continue;
    if (batch_tensors.host_fields[sources_[i].index].scalar_type() == at::kBool) continue;
    const auto& dimension = indices->dimension;
    const int64_t limit =
        dimension ? inputs[dimension->input].size(static_cast<int64_t>(dimension->dimension)) : indices->limit;
    const at::Tensor& field = batch_tensors.host_fields[sources_[i].index];
    const std::optional<int64_t> place = find_outside(field, limit, indices->ignore_index);
    if (!place) continue;
    const BoundDataset& data = *batch_tensors.data;
    const int64_t row = *place / (field.numel() / field.size(0));
    const std::vector<int64_t> samples = data.feed.list_samples(*batch_tensors.batch);
    const int64_t found = field.flatten()[*place].item<int64_t>();
    throw Error(
        ErrorKind::data,
        data.feed.dataset().component().describe() + " (" + data.name() +
            (samples.empty() ? "" : " sample " + std::to_string(samples[static_cast<size_t>(row)])) + "): " +
            sources_[i].name + " holds " + std::to_string(found) + "; expected 0 to " + std::to_string(limit - 1) +
            (indices->ignore_index ? " or ignore_index (" + std::to_string(*indices->ignore_index) + ")" : "") +
            ", because it is the input " + ports_[i].name + " of " + owner_ +
            (dimension ? ", an index below the extent " + dimension->name + " of " + ports_[dimension->input].name
                       : "") +
            suggest_numbering(field, limit) + "; fix the data, or the parameters that set this limit");
  }
}

std::string Wiring::describe(const BatchTensors& batch_tensors) const {
  std::string text;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const at::Tensor tensor = sources_[i].take(batch_tensors);
    text += (i == 0 ? "" : ", ") + ports_[i].name + " = " + sources_[i].name + ": " + components::describe(tensor);
    const at::Tensor& readable =
        is_host_field(batch_tensors, sources_[i]) ? batch_tensors.host_fields[sources_[i].index] : tensor;
    if (readable.is_cpu() && at::isIntegralType(readable.scalar_type(), /*includeBool=*/false) && readable.numel() > 0)
      text += fmt::format(", {} to {}", readable.min().item<int64_t>(), readable.max().item<int64_t>());
  }
  return text;
}

bool Wiring::needs_results() const { return std::ranges::any_of(sources_, &Source::is_of_results); }

std::map<std::string, std::string> Wiring::source_names() const {
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < sources_.size(); ++i) names[ports_[i].name] = sources_[i].name;
  return names;
}

void Wiring::check(const std::vector<at::Tensor>& inputs) const {
  components::Extents extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = ports_[i];
    if (const auto reason = components::find_mismatch(inputs[i], port, extents))
      throw Error(ErrorKind::plugin, "{}: the input {} received {}: {}", owner_, port.describe(),
                  components::describe(inputs[i]), *reason);
  }
}

Wiring connect_model(const components::Model& model, const config::ComponentPlan& plan, const std::string& data_name,
                     const std::vector<SampleField>& fields) {
  const std::string owner = fmt::format("{} on the data of {}", model.component().describe(), data_name);
  return Wiring(Connector(model.inputs(), owner, plan, fields).connect(), model.inputs(), owner,
                has_varying_fields(fields));
}

Wiring connect(const std::vector<Port>& inputs, const std::string& owner, const config::ComponentPlan& plan,
               const components::Model& model, const std::vector<SampleField>& fields, bool has_results) {
  std::vector<Source> sources =
      Connector(inputs, owner, plan, fields, {output_candidates(model)}, has_results ? &model : nullptr).connect();
  // The number of rows of a result may vary.
  const bool shapes_vary = has_varying_fields(fields) || std::ranges::any_of(sources, &Source::is_of_results);
  return Wiring(std::move(sources), inputs, owner, shapes_vary);
}

}  // namespace tenon::pipeline
