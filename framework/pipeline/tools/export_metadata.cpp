#include "framework/pipeline/tools/export_metadata.h"

#include <torch/types.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "framework/components/calls/ports.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/build/batch_transforms.h"
#include "framework/pipeline/build/connections.h"

namespace tenon::pipeline {

namespace {

using Json = nlohmann::ordered_json;
using components::Component;
using components::Port;
using components::SampleField;

constexpr int kFormat = 1;

Json format_params(const Component& component, const config::Values& params) {
  Json printed = Json::object();
  for (const config::ParamSchema& param : component.schema.params) {
    const auto value = params.find(param.name);
    if (value == params.end() || param.type == config::ParamType::path) continue;
    std::visit([&](const auto& one) { printed[param.name] = one; }, value->second);
  }
  return printed;
}

Json format_component(const Component& component, const config::Values& params) {
  return {{"component", component.schema.id},
          {"plugin", component.plugin->id},
          {"version", component.plugin->version},
          {"params", format_params(component, params)}};
}

// A dimension of unknown size is null.
Json format_extents(const std::vector<int64_t>& shape) {
  Json extents = Json::array();
  for (const int64_t extent : shape) extents.push_back(extent < 0 ? Json() : Json(extent));
  return extents;
}

// Null for any number of dimensions.
Json format_shape(const components::ShapePattern& shape) {
  if (shape.any || shape.open_ended) return {};
  std::vector<int64_t> extents;
  for (const components::ShapePattern::Extent& extent : shape.extents) extents.push_back(extent.size.value_or(-1));
  return format_extents(extents);
}

// Null if the model accepts several dtypes.
Json format_dtypes(uint64_t dtypes) {
  return dtypes != 0 && (dtypes & (dtypes - 1)) == 0 ? Json(components::describe_dtypes(dtypes)) : Json();
}

Json format_port(const Port& port) {
  return {{"name", port.name}, {"dtype", format_dtypes(port.dtypes)}, {"shape", format_shape(port.shape)}};
}

// The steps of a field: those of the dataset, then the normalisation of whole batches. Mixing is only for training.
Json format_steps(const config::RunPlan& plan, const components::Dataset& data, const std::string& field) {
  Json steps;
  for (const components::FieldSteps& known : data.preprocessing())
    if (data.fields()[known.field].name == field) steps = Json::parse(known.steps);
  for (const config::BatchTransformPlan& transform : plan.data.batch_transforms)
    if (const auto* normalize = std::get_if<config::NormalizeBatch>(&transform.what);
        normalize && normalize->field == field)
      steps.push_back({{"name", "normalize"}, {"divide_by", 255}, {"mean", normalize->mean}, {"std", normalize->std}});
  return steps;
}

Json format_inputs(const config::RunPlan& plan, const components::Model& model, const components::Dataset* data) {
  Json inputs = Json::array();
  for (const Port& port : model.inputs()) inputs.push_back(format_port(port));
  if (!data) return inputs;
  const BatchTransforms transforms(plan.data.batch_transforms, data->fields());
  const Wiring wiring = connect_model(model, plan.model, data->name(), transforms.fields());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Source& source = wiring.sources()[i];
    const SampleField& field = transforms.fields()[source.index];
    if (source.kind == Source::Kind::lengths) {
      inputs[i]["dtype"] = components::dtype_name(TENON_INT64);
      inputs[i]["field"] = field.name + ".lengths";
      continue;
    }
    std::vector<int64_t> shape = field.shape;
    shape.insert(shape.begin(), -1);
    const auto& converted = source.dtype;
    inputs[i]["dtype"] = components::dtype_name(converted ? components::to_dtype(*converted) : field.dtype);
    inputs[i]["shape"] = format_extents(shape);
    inputs[i]["field"] = field.name;
    inputs[i]["preprocessing"] = format_steps(plan, *data, field.name);
  }
  return inputs;
}

Json format_outputs(const components::Model& model, const components::Dataset* data,
                    const std::vector<at::Tensor>& outputs) {
  Json printed = Json::array();
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    printed.push_back(format_port(model.outputs()[i]));
    if (i >= outputs.size()) continue;
    printed[i]["dtype"] = components::dtype_name(components::to_dtype(outputs[i].scalar_type()));
    // The sizes of one batch are those of every batch if all samples have one size.
    if (data && std::ranges::none_of(data->fields(), &SampleField::is_varying) && outputs[i].dim() > 0) {
      std::vector<int64_t> shape = outputs[i].sizes().vec();
      shape.front() = -1;
      printed[i]["shape"] = format_extents(shape);
    }
  }
  return printed;
}

}  // namespace

std::string format_field_steps(const config::RunPlan& plan, const components::Dataset& data, const std::string& field) {
  return format_steps(plan, data, field).dump();
}

std::string format_export_metadata(const config::RunPlan& plan, const components::Model& model,
                                   const components::Dataset* data, const std::vector<at::Tensor>& outputs) {
  Json printed{{"format", kFormat}, {"model", format_component(model.component(), plan.model.params)}};
  printed["inputs"] = format_inputs(plan, model, data);
  printed["outputs"] = format_outputs(model, data, outputs);
  for (const components::ModelResult& result : model.results())
    printed["results"].push_back({{"name", result.name}, {"list", result.is_list}});
  Json class_names = Json::object();
  for (const auto& [field, names] : plan.data.class_names) class_names[field] = names;
  printed["class_names"] = class_names;
  if (data) {
    const auto plans_data = [&](const config::NamedDataset& one) { return one.name == data->name(); };
    const auto found = std::ranges::find_if(plan.data.validation, plans_data);
    const config::NamedDataset& dataset = found == plan.data.validation.end() ? plan.data.train : *found;
    printed["data"] = format_component(data->component(), dataset.params);
    printed["data"]["name"] = data->name();
  }
  return printed.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace tenon::pipeline
