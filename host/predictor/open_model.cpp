#include "host/predictor/open_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/ports.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/pipeline/build/build_components.h"
#include "framework/pipeline/build/memory_format.h"
#include "framework/pipeline/tools/model_file.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/installation.h"

namespace tenon::predictor {

namespace fs = std::filesystem;
using config::ComponentKind;
using nlohmann::json;
using support::Error;
using support::ErrorKind;

namespace {

constexpr const char* kDataName = "data";  // in messages of connections

// JSON as the value of a run file.
config::Node to_node(const json& value, const config::SourceLocation& place) {
  config::Node node{{}, place, place, value.is_object() ? "" : value.dump()};
  if (value.is_boolean()) node.value = value.get<bool>();
  if (value.is_number_integer()) node.value = value.get<int64_t>();
  if (value.is_number_float()) node.value = value.get<double>();
  if (value.is_string()) node.value = value.get<std::string>();
  if (value.is_array()) {
    config::Node::Array list;
    for (const json& element : value) list.push_back(to_node(element, place));
    node.value = std::move(list);
  }
  if (value.is_object()) {
    config::Node::Table table;
    for (const auto& [name, member] : value.items()) table.emplace(name, to_node(member, place));
    node.value = std::move(table);
  }
  return node;
}

// What is wrong with a description. The catcher adds the file.
struct DescriptionFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <config::NamedEnum E>
E read_name(const json& text) {
  for (const config::EnumName<E>& one : config::kNames<E>)
    if (text.get<std::string>() == one.name) return one.value;
  throw DescriptionFault("has the unknown word " + text.dump());
}

int32_t read_dtype(const std::string& name) {
  for (int32_t dtype = TENON_UINT8; components::dtype_bytes(dtype) > 0; ++dtype)
    if (name == components::dtype_name(dtype)) return dtype;
  throw DescriptionFault("has the unknown dtype \"" + name + '"');
}

ModelField read_field(const json& described) {
  ModelField field;
  field.name = described.at("name").get<std::string>();
  field.dtype = read_dtype(described.at("dtype").get<std::string>());
  field.shape = described.at("shape").get<std::vector<int64_t>>();
  field.element_bytes = components::dtype_bytes(field.dtype);
  field.least_extent = described.at("least_extent").get<int64_t>();
  const auto padding = described.at("padding").get<std::vector<uint8_t>>();
  const auto bytes = components::count_sample_bytes(field.shape, field.element_bytes);
  const bool has_extents = std::ranges::all_of(field.shape, [](int64_t extent) { return extent >= -1; });
  if (!bytes || !has_extents || padding.size() != field.element_bytes || field.least_extent < 0)
    throw DescriptionFault(fmt::format("its field {} has no possible shape or padding", field.name));
  field.sample_bytes = field.is_varying() ? 0 : *bytes;
  std::ranges::transform(padding, field.padding.begin(), [](uint8_t byte) { return std::byte{byte}; });
  field.preprocessing = described.value("preprocessing", json()).dump();
  return field;
}

[[noreturn]] void refuse_description(const fs::path& file, const std::string& what) {
  throw Error(ErrorKind::checkpoint, "{}: {}; use the version of Tenon that exported it, or a later one", file.string(),
              what);
}

// The plan without the parameters of the model.
config::RunPlan read_plan(const json& description, const fs::path& file) {
  const json& run = description.at("run");
  config::RunPlan plan;
  plan.file = file;
  plan.run.flush_denormal = run.at("flush_denormal").get<bool>();
  plan.run.seed = run.at("seed").get<uint64_t>();
  plan.train.precision = read_name<config::Precision>(run.at("precision"));
  plan.train.memory_format = read_name<config::MemoryFormat>(run.at("memory_format"));
  plan.model.use = description.at("model").at("component").get<std::string>();
  plan.model.place = file.string();
  plan.model.inputs = run.at("connections").get<std::map<std::string, std::string>>();
  plan.data.class_names = description.at("class_names").get<config::ClassNames>();
  for (const json& described : run.at("batch_transforms")) {
    config::NormalizeBatch normalize{described.at("field").get<std::string>(),
                                     described.at("mean").get<std::vector<double>>(),
                                     described.at("std").get<std::vector<double>>()};
    plan.data.batch_transforms.push_back({std::move(normalize), file.string()});
  }
  return plan;
}

// Throws Error(configuration) if the values are not those of the schema.
config::Values read_params(const json& given, const config::ComponentSchema& schema, const std::string& key,
                           const fs::path& file) {
  const config::SourceLocation place{file.string()};
  const config::Node table = to_node(given, place);
  config::RunConfig config;
  config.folder = "/";
  config::Diagnostics diagnostics;
  config::Values values =
      config::resolve_params({schema.id, schema.params, *table.as_table(), key, place, config}, diagnostics);
  diagnostics.throw_if_any();
  return values;
}

config::Values read_model_params(const json& description, const config::ComponentSchema& schema,
                                 pipeline::ModelFile& file) {
  json given = description.at("model").at("params");
  for (const auto& [param, path] : file.open_files()) given[param] = path.string();
  return read_params(given, schema, "model.params", file.path());
}

// Fields that the dataset makes of values outside of its data.
void add_encoders(const json& description, components::Catalogue& catalogue, const fs::path& file,
                  std::vector<ModelField>& fields) {
  const json& described = description.at("run").at("fields");
  if (std::ranges::none_of(described, [](const json& field) { return field.contains("encoder"); })) return;
  const std::string use = description.at("data").at("component").get<std::string>();
  if (!catalogue.find_schema(ComponentKind::dataset, use))
    throw Error(ErrorKind::plugin,
                "{}: needs the dataset \"{}\" of the plugin {} for its inputs, which is not in {}; name "
                "its folder",
                file.string(), use, description.at("data").at("plugin").dump(), catalogue.describe_search());
  catalogue.open_plugins_of({{ComponentKind::dataset, use}});
  const components::Component& dataset = catalogue.find(ComponentKind::dataset, use);
  config::ComponentSchema schema = dataset.schema;  // without paths, which the description leaves out
  std::erase_if(schema.params, [](const config::ParamSchema& param) { return param.type == config::ParamType::path; });
  const config::Values params = read_params(description.at("data").at("params"), schema, "data.params", file);
  const artifacts::FittedData fitted = artifacts::parse_fitted_data(description.at("run").at("fitted_data").dump());
  const auto bytes = fitted.find(use);
  for (size_t i = 0; i < fields.size(); ++i)
    if (described.at(i).contains("encoder"))
      fields[i].encoder =
          components::ValueEncoder::make(dataset, params, bytes == fitted.end() ? "" : bytes->second, fields[i].name);
}

// The digests of plugins that are not part of the installation.
std::vector<config::PluginPin> read_pins(const json& description, const ModelOptions& options) {
  std::vector<config::PluginPin> pins;
  if (options.accepts_any_plugin) return pins;
  for (const json& plugin : description.at("plugins"))
    if (!plugin.at("bundled").get<bool>())
      pins.push_back({plugin.at("file").get<std::string>(), plugin.at("sha256").get<std::string>(),
                      options.file.string(),
                      "open the model with TENON_PREDICTOR_ANY_PLUGIN if you trust the new one"});
  return pins;
}

components::Catalogue open_plugins(const json& description, const ModelOptions& options) {
  static const bool is_installed = [] {
    components::install_libtorch();
    return true;
  }();
  static_cast<void>(is_installed);
  const support::Installation installation = support::find_installation();
  std::vector<fs::path> places;
  for (const fs::path& named : options.plugins) {
    if (!support::path_exists(named))
      throw Error(ErrorKind::plugin, "{}: {}; expected a folder with plugins, or a plugin", support::format_path(named),
                  support::describe_path(named));
    places.push_back(support::find_canonical(named, ErrorKind::plugin));
  }
  for (const fs::path& folder : components::list_bundled_directories(installation))
    if (std::ranges::count(places, folder) == 0) places.push_back(folder);
  return components::Catalogue::look(places, components::host_table(), components::torch_build(),
                                     read_pins(description, options));
}

// Lets the tensors of a model have the memory of those of another one.
void share_memory(const components::Model& from, const components::Model& to) {
  for (size_t i = 0; i < from.tensors().size(); ++i) {
    at::Tensor tensor = to.tensors()[i].tensor;
    tensor.set_data(from.tensors()[i].tensor.detach());
  }
}

// Initial weights use LibTorch's generator, which the program may use, too.
class KeptGenerator {
 public:
  KeptGenerator() : state_(generator().get_state()) {}
  ~KeptGenerator() { generator().set_state(state_); }
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

 private:
  static at::Generator generator() { return at::globalContext().defaultGenerator(at::kCPU); }
  at::Tensor state_;
};

std::unique_ptr<OpenedModel> open(const ModelOptions& options, pipeline::ModelFile& file, size_t copies) {
  const json& description = file.description();
  config::RunPlan plan = read_plan(description, options.file);
  components::Catalogue catalogue = open_plugins(description, options);
  if (!catalogue.find_schema(ComponentKind::model, plan.model.use))
    throw Error(ErrorKind::plugin, "{}: needs the model \"{}\" of the plugin {}, which is not in {}; name its folder",
                options.file.string(), plan.model.use, description.at("model").at("plugin").dump(),
                catalogue.describe_search());
  catalogue.open_plugins_of({{ComponentKind::model, plan.model.use}});
  plan.model.params = read_model_params(description, catalogue.find(ComponentKind::model, plan.model.use).schema, file);
  if (description.contains("weights")) plan.model.checkpoint = file.open(description.at("weights").get<std::string>());
  std::vector<ModelField> fields;
  for (const json& field : description.at("run").at("fields")) fields.push_back(read_field(field));
  add_encoders(description, catalogue, options.file, fields);
  const std::vector<components::SampleField> plain(fields.begin(), fields.end());
  pipeline::BatchTransforms transforms(plan.data.batch_transforms, plain);
  auto opened = std::make_unique<OpenedModel>(OpenedModel{description.dump(2), std::move(plan), std::move(catalogue),
                                                          std::move(fields), plain, std::move(transforms)});
  opened->context.seed = opened->plan.run.seed;
  opened->context.step = description.at("run").at("step").get<int64_t>();
  opened->context.epoch = description.at("run").at("epoch").get<int64_t>();
  const KeptGenerator kept;
  for (size_t i = 0; i < copies; ++i) {
    opened->models.push_back(pipeline::build_model(opened->plan, opened->catalogue, at::kCPU, /*rank=*/0, nullptr));
    if (i > 0) share_memory(opened->models.front(), opened->models.back());
  }
  const components::Model& model = opened->models.front();
  opened->memory_format =
      pipeline::choose_memory_format(opened->plan.train, model.tensors(), model.needs_contiguous(), at::kCPU);
  return opened;
}

}  // namespace

pipeline::Wiring OpenedModel::connect(const components::Model& model) const {
  return pipeline::connect_model(model, plan.model, kDataName, transforms.fields());
}

std::unique_ptr<OpenedModel> open_model(const ModelOptions& options, size_t copies) {
  pipeline::ModelFile file(options.file);
  try {
    return open(options, file, copies);
  } catch (const Error& error) {
    throw Error(error.kind(), file.name_members(error.what()));
  } catch (const json::exception& error) {
    refuse_description(options.file, std::string("its description cannot be read: ") + error.what());
  } catch (const DescriptionFault& fault) {
    refuse_description(options.file, fault.what());
  }
}

}  // namespace tenon::predictor
