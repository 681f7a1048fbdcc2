#include "framework/components/calls/plugin_transforms.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/calls/kept_settings.h"
#include "framework/config/values/check_value.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {
namespace {

using config::ParamSchema;
using config::ParamType;
using support::Error;
using support::ErrorKind;

constexpr const char* kProbability = "p";

// The parameters of the component, and the probability that every transform has.
std::vector<ParamSchema> arguments_of(const config::ComponentSchema& schema) {
  std::vector<ParamSchema> known = schema.params;
  if (std::ranges::find(known, kProbability, &ParamSchema::name) == known.end())
    known.push_back(config::parse_param_schema(kProbability, ParamType::floating, "1.0", "[0, 1]", {},
                                               "probability of being applied"));
  return known;
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::configuration, what); }

std::vector<std::string> names_of(const std::vector<ParamSchema>& known) {
  std::vector<std::string> names;
  for (const ParamSchema& param : known) names.push_back(param.name);
  return names;
}

bool is_list(ParamType type) { return type == ParamType::integers || type == ParamType::floats; }

// `(1, 2)` becomes `[1, 2]`, a word becomes a string, and one number a list where the parameter is one.
std::string to_toml_value(const std::string& text, ParamType type) {
  if (text.starts_with('(') && text.ends_with(')')) return '[' + text.substr(1, text.size() - 2) + ']';
  if (is_list(type)) return '[' + text + ']';
  const bool is_word = (text.front() >= 'a' && text.front() <= 'z') || (text.front() >= 'A' && text.front() <= 'Z');
  return is_word && text != "true" && text != "false" ? '"' + text + '"' : text;
}

config::Value read_value(const WrittenArgument& argument, const ParamSchema& param) {
  std::optional<config::Node> node = config::parse_toml_value(to_toml_value(argument.text, param.type), {});
  if (!node)
    refuse(fmt::format("{} is {}; expected {}, as TOML writes it", param.name, argument.text,
                       config::describe_expected(param)));
  node->text = argument.text;
  std::optional<config::Value> value = config::check_value(*node, param);
  if (!value) refuse(fmt::format("{} is {}; expected {}", param.name, argument.text, config::describe_expected(param)));
  return *std::move(value);
}

nlohmann::json to_json(const config::Value& value) {
  return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

// A transform of an opened plugin. It has copies of what a Catalogue would take with it.
struct OfferedTransform {
  PluginInfo plugin;
  Component component;
};

std::map<std::string, std::shared_ptr<const OfferedTransform>>& offered_transforms() {
  static std::map<std::string, std::shared_ptr<const OfferedTransform>> transforms;
  return transforms;
}

std::set<std::string>& transform_names() {
  static std::set<std::string> names;
  return names;
}

// What the image library holds.
struct MadeTransform {
  MadeTransform(std::shared_ptr<const OfferedTransform> from, const std::vector<WrittenArgument>& arguments)
      : offered(std::move(from)),
        transform(offered->component, arguments),
        description(offered->component.describe()) {}

  std::shared_ptr<const OfferedTransform> offered;
  Transform transform;
  std::string description;
};

// Calls `body`, for a function of the host that the image library calls. `report` receives the status and the text of
// an error.
template <class Body, class Report>
tenon_status guard_call(const Body& body, const Report& report) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    switch (error.kind()) {
      case ErrorKind::data: return report(TENON_BAD_DATA, error.what());
      case ErrorKind::configuration: return report(TENON_INVALID_ARGUMENT, error.what());
      default: return report(TENON_FAILED, error.what());
    }
  } catch (const std::exception& error) {
    return report(TENON_FAILED, error.what());
  }
}

template <class Body>
tenon_status guard_call(const Body& body) noexcept {
  return guard_call(body, [](tenon_status status, const char* text) { return fail(status, text); });
}

const Transform& transform_of(void* made) { return static_cast<const MadeTransform*>(made)->transform; }

tenon_status list(const tenon_text_sink* names) {
  return guard_call([&]() -> tenon_status {
    for (const std::string& name : transform_names())
      if (const tenon_status status = names->put(names, to_tenon(name)); status != TENON_OK) return status;
    return TENON_OK;
  });
}

tenon_status create(tenon_string id, const images::PluginArgument* arguments, uint64_t count,
                    const tenon_text_sink* error, void** made, images::PluginTransformInfo* info) {
  const auto make = [&]() -> tenon_status {
    const auto found = offered_transforms().find(to_string(id));
    if (found == offered_transforms().end())
      refuse(
          "the plugin of this transform is not open; expected the entry in the parameter \"transforms\" of a dataset, "
          "or in one with a name that ends in \"_transforms\"");
    std::vector<WrittenArgument> written;
    for (uint64_t i = 0; i < count; ++i)
      written.push_back({to_string(arguments[i].name), to_string(arguments[i].text)});
    auto created = std::make_unique<MadeTransform>(found->second, written);
    info->probability = created->transform.probability();
    info->moved_kinds = created->transform.moved_kinds();
    info->arguments = to_tenon(created->transform.arguments_json());
    info->description = to_tenon(created->description);
    *made = created.release();
    return TENON_OK;
  };
  return guard_call(make, [&](tenon_status status, const char* text) {
    error->put(error, to_tenon(text));
    return status;
  });
}

void destroy(void* made) { delete static_cast<MadeTransform*>(made); }

tenon_status output_size(void* made, int64_t* height, int64_t* width) {
  return guard_call([&] {
    transform_of(made).find_output_size(*height, *width);
    return TENON_OK;
  });
}

tenon_status apply(void* made, tenon_moving_image* image, uint64_t seed) {
  return guard_call([&] {
    transform_of(made).apply(*image, seed);
    return TENON_OK;
  });
}

}  // namespace

config::Values Transform::resolve(const std::vector<WrittenArgument>& arguments) {
  const std::vector<ParamSchema> known = arguments_of(component_.schema);
  std::map<std::string, const WrittenArgument*> given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const WrittenArgument& argument = arguments[i];
    if (argument.name.empty() && i > 0 && !arguments[i - 1].name.empty())
      refuse(fmt::format("found {0} without a name after a named argument; expected a name, as in {1}={0}",
                         argument.text, known.back().name));
    if (argument.name.empty() && i >= known.size())
      refuse(fmt::format("argument {} is {}; expected {} at most", i + 1, argument.text, known.size()));
    const std::string& name = argument.name.empty() ? known[i].name : argument.name;
    if (std::ranges::find(known, name, &ParamSchema::name) == known.end())
      refuse(fmt::format("there is no argument \"{}\"{}", name, formats::suggest_name(name, names_of(known))));
    if (!given.emplace(name, &argument).second) refuse(fmt::format("{} is given twice", name));
  }
  config::Values values;
  for (const ParamSchema& param : known) {
    std::optional<config::Value> value = param.default_value;
    if (const auto found = given.find(param.name); found != given.end()) value = read_value(*found->second, param);
    if (!value)
      refuse(fmt::format("the argument {} is missing; expected {}", param.name, config::describe_expected(param)));
    arguments_json_ +=
        fmt::format("{}\"{}\": {}", arguments_json_.empty() ? "" : ", ", param.name, to_json(*value).dump());
    values[param.name] = *std::move(value);
  }
  const double* const probability = std::get_if<double>(&values.at(kProbability));
  if (!probability || !(*probability >= 0 && *probability <= 1))
    refuse(fmt::format("p is {}; expected a probability in [0, 1]", config::to_toml(values.at(kProbability))));
  probability_ = *probability;
  if (component_.schema.params.size() < known.size()) values.erase(kProbability);
  return values;
}

Transform::Transform(const Component& component, const std::vector<WrittenArgument>& arguments)
    : component_(component), table_(*static_cast<const tenon_transform*>(component.table)) {
  const config::Values values = resolve(arguments);
  const tenon_params params(values);
  call_plugin(component_, "create", [&] { return table_.create(&host_table(), &params, &self_); });
  restore_host_settings(component_, "create");
}

Transform::~Transform() {
  if (!self_) return;
  try {
    call_plugin(component_, "destroy", [&] {
      table_.destroy(self_);
      return TENON_OK;
    });
  } catch (const std::exception&) {
    // A destructor cannot report an error, and the run does not depend on it.
  }
}

void Transform::find_output_size(int64_t& height, int64_t& width) const {
  if (moved_kinds() == 0) return;
  if (!TENON_HAS(&table_, tenon_transform, output_size) || !table_.output_size) {
    height = width = -1;
    return;
  }
  call_plugin(component_, "output_size", [&] { return table_.output_size(self_, &height, &width); });
  for (const int64_t extent : {height, width})
    if (extent != -1 && (extent < 1 || extent > INT32_MAX))
      throw_plugin_error(component_, "output_size", "the size is {} x {}; expected extents of 1 or more, or -1", height,
                         width);
}

void Transform::apply(tenon_moving_image& image, uint64_t seed) const {
  call_plugin(component_, "apply", [&] { return table_.apply(self_, &image, seed); });
}

std::string to_argument_syntax(std::string toml) {
  std::ranges::replace(toml, '[', '(');
  std::ranges::replace(toml, ']', ')');
  std::ranges::replace(toml, '"', '\'');
  return toml;
}

void offer_transform(const Component& component) {
  auto offered = std::make_shared<OfferedTransform>(OfferedTransform{*component.plugin, component});
  offered->component.plugin = &offered->plugin;
  offered_transforms()[component.schema.id] = std::move(offered);
  transform_names().insert(component.schema.id);
}

void add_transform_names(const std::vector<std::string>& names) {
  transform_names().insert(names.begin(), names.end());
}

const images::PluginTransforms& plugin_transforms() {
  static constexpr images::PluginTransforms kTransforms = {list, create, destroy, output_size, apply};
  return kTransforms;
}

}  // namespace tenon::components
