#include "framework/pipeline/build/connections.h"

#include <ATen/Dispatch.h>
#include <torch/types.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "framework/pipeline/build/training.h"
#include "framework/plugins/components/dataset.h"
#include "framework/plugins/tensors/tensor_handles.h"
#include "framework/support/error.h"
#include "framework/support/log.h"
#include "framework/support/nearest_name.h"

namespace tenon::pipeline {

using plugins::Port;
using plugins::SampleField;
using support::Error;
using support::ErrorKind;

namespace {

// A possible source of an input.
struct Candidate {
  std::string name;  // "data.image", "model.logits"
  Source::Kind kind;
  size_t index;
  plugins::ShapePattern shape;
  uint64_t dtypes;
};

std::vector<Candidate> field_candidates(const std::vector<SampleField>& fields) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < fields.size(); ++i) {
    const SampleField& field = fields[i];
    plugins::ShapePattern shape = plugins::sample_pattern(field);
    shape.extents.insert(shape.extents.begin(), {std::nullopt, "N"});
    candidates.push_back({"data." + field.name, Source::Kind::field, i, shape, TENON_DTYPE_BIT(field.dtype)});
  }
  return candidates;
}

std::vector<Candidate> output_candidates(const plugins::Model& model) {
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
  return candidate.name + ": " + plugins::describe_dtypes(candidate.dtypes) + " " + to_string(candidate.shape);
}

std::string bare_name(const Candidate& candidate) { return candidate.name.substr(candidate.name.find('.') + 1); }

// Finds the source of each input of one component.
class Connector {
 public:
  // `groups`: the candidates; earlier groups are preferred.
  Connector(const std::vector<Port>& inputs, std::string owner, const config::ComponentPlan& plan,
            std::vector<std::vector<Candidate>> groups)
      : inputs_(inputs), owner_(std::move(owner)), plan_(plan), groups_(std::move(groups)) {}

  std::vector<Source> connect() {
    check_names();
    std::vector<Source> sources;
    std::string text;
    for (const Port& port : inputs_) {
      const Candidate& found = find(port);
      taken_.emplace(found.name, port.name);
      sources.push_back({found.kind, found.index, found.name});
      text += (text.empty() ? "" : ", ") + port.name + " = " + found.name;
    }
    support::log_debug("inputs of " + owner_ + ": " + text);
    return sources;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::configuration, plan_.place + ": " + owner_ + ": " + what);
  }

  std::vector<std::string> candidate_names() const {
    std::vector<std::string> names;
    for (const auto& group : groups_)
      for (const Candidate& candidate : group) names.push_back(candidate.name);
    return names;
  }

  void check_names() const {
    std::vector<std::string> known;
    for (const Port& port : inputs_) known.push_back(port.name);
    for (const auto& [name, source] : plan_.inputs)
      if (std::find(known.begin(), known.end(), name) == known.end())
        refuse("inputs names the port \"" + name + "\", which this component does not have" +
               support::suggest_name(name, known));
  }

  std::optional<std::string> mismatch(const Candidate& candidate, const Port& port, plugins::Extents& extents) const {
    return plugins::find_mismatch(candidate.shape, candidate.dtypes, port, extents);
  }

  bool is_free(const Candidate& candidate) const { return !taken_.contains(candidate.name); }

  bool fits(const Candidate& candidate, const Port& port) const {
    plugins::Extents extents = extents_;
    return !mismatch(candidate, port, extents);
  }

  // Images are bytes until they are normalised.
  std::string suggest_fix(const Candidate& candidate, const Port& port) const {
    constexpr uint64_t kBytes = TENON_DTYPE_BIT(TENON_UINT8);
    const bool are_bytes = candidate.kind == Source::Kind::field && candidate.dtypes == kBytes &&
                           (port.dtypes & kBytes) == 0 && candidate.shape.extents.size() > 2;
    return are_bytes ? "; add \"normalize()\" at the end of the transforms of the dataset, or a "
                       "[[data.batch_transform]] with use = \"normalize\""
                     : "; change the parameters of " + plan_.use + " or its source (`host describe " + plan_.use +
                           "` lists them)";
  }

  const Candidate& accept(const Candidate& candidate, const Port& port) {
    plugins::Extents extents = extents_;
    if (const auto reason = mismatch(candidate, port, extents))
      refuse("the input " + port.describe() + " does not fit its source " + describe(candidate) + ": " + *reason +
             suggest_fix(candidate, port));
    extents_ = std::move(extents);
    return candidate;
  }

  const Candidate& find(const Port& port) {
    if (const auto named = plan_.inputs.find(port.name); named != plan_.inputs.end()) {
      for (const auto& group : groups_)
        for (const Candidate& candidate : group)
          if (candidate.name == named->second) return accept(candidate, port);
      refuse("inputs." + port.name + " is \"" + named->second + "\", which does not exist" +
             support::suggest_name(named->second, candidate_names()));
    }
    for (const auto& group : groups_)
      for (const Candidate& candidate : group)
        if (bare_name(candidate) == port.name) return accept(candidate, port);
    for (const std::string& usual : port.usual_sources)
      for (const auto& group : groups_)
        for (const Candidate& candidate : group)
          if ((bare_name(candidate) == usual || candidate.name == usual) && is_free(candidate) && fits(candidate, port))
            return accept(candidate, port);
    return find_only_fitting(port);
  }

  const Candidate& find_only_fitting(const Port& port) {
    std::string reasons;
    bool fits_several = false;
    for (const auto& group : groups_) {
      std::vector<const Candidate*> fitting;
      for (const Candidate& candidate : group) {
        plugins::Extents extents = extents_;
        const auto reason = mismatch(candidate, port, extents);
        // The target of a prediction is not the prediction itself, even if it fits.
        if (const auto taken = taken_.find(candidate.name); !reason && taken != taken_.end()) {
          reasons += "\n    " + describe(candidate) + " is already connected to the input " + taken->second;
          continue;
        }
        if (!reason) fitting.push_back(&candidate);
        reasons += "\n    " + describe(candidate) + (reason ? " does not fit: " + *reason : " fits");
      }
      if (fitting.size() == 1) return accept(*fitting.front(), port);
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
  std::vector<std::vector<Candidate>> groups_;
  plugins::Extents extents_;
  std::map<std::string, std::string> taken_;  // a source's name -> the first input connected to it
};

// Whether the source is a field as the dataset returned it: batch transforms keep the dtype of integer fields only if
// they do not change them.
bool is_host_field(const BatchTensors& batch_tensors, const Source& source) {
  return source.kind == Source::Kind::field && source.index < batch_tensors.host_fields.size() &&
         batch_tensors.host_fields[source.index].scalar_type() == source.take(batch_tensors).scalar_type();
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

}  // namespace

std::vector<at::Tensor> Wiring::gather(const BatchTensors& batch_tensors) {
  std::vector<at::Tensor> inputs;
  inputs.reserve(sources_.size());
  for (const Source& source : sources_) inputs.push_back(source.take(batch_tensors));
  if (!checked_ || shapes_vary_) check(inputs);
  checked_ = true;
  check_indices(batch_tensors, inputs);
  return inputs;
}

void Wiring::check_indices(const BatchTensors& batch_tensors, const std::vector<at::Tensor>& inputs) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const auto& indices = ports_[i].indices;
    if (!indices || !is_host_field(batch_tensors, sources_[i])) continue;
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
            "; fix the data, or the parameters that set this limit");
  }
}

std::string Wiring::describe(const BatchTensors& batch_tensors) const {
  std::string text;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const at::Tensor& tensor = sources_[i].take(batch_tensors);
    text += (i == 0 ? "" : ", ") + ports_[i].name + " = " + sources_[i].name + ": " + plugins::describe(tensor);
    const at::Tensor& readable =
        is_host_field(batch_tensors, sources_[i]) ? batch_tensors.host_fields[sources_[i].index] : tensor;
    if (readable.is_cpu() && at::isIntegralType(readable.scalar_type(), /*includeBool=*/false) && readable.numel() > 0)
      text += ", " + std::to_string(readable.min().item<int64_t>()) + " to " +
              std::to_string(readable.max().item<int64_t>());
  }
  return text;
}

std::map<std::string, std::string> Wiring::source_names() const {
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < sources_.size(); ++i) names[ports_[i].name] = sources_[i].name;
  return names;
}

void Wiring::check(const std::vector<at::Tensor>& inputs) const {
  plugins::Extents extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = ports_[i];
    if (const auto reason = plugins::find_mismatch(inputs[i], port, extents))
      throw Error(ErrorKind::plugin, owner_ + ": the input " + port.describe() + " received " +
                                         plugins::describe(inputs[i]) + ": " + *reason);
  }
}

Wiring connect_model(const plugins::Model& model, const config::ComponentPlan& plan, const std::string& data_name,
                     const std::vector<SampleField>& fields) {
  const std::string owner = model.component().describe() + " on the data of " + data_name;
  return Wiring(Connector(model.inputs(), owner, plan, {field_candidates(fields)}).connect(), model.inputs(), owner,
                has_varying_fields(fields));
}

Wiring connect(const std::vector<Port>& inputs, const std::string& owner, const config::ComponentPlan& plan,
               const plugins::Model& model, const std::vector<SampleField>& fields) {
  return Wiring(Connector(inputs, owner, plan, {output_candidates(model), field_candidates(fields)}).connect(), inputs,
                owner, has_varying_fields(fields));
}

}  // namespace tenon::pipeline
