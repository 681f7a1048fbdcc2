#include "tests/config/stub_schemas.h"

namespace tenon::config {
namespace {

ParamSchema integer(const std::string& name, const std::string& default_toml, const std::string& range) {
  return parse_param_schema(name, ParamType::integer, default_toml, range, {}, "");
}

ParamSchema number(const std::string& name, const std::string& default_toml, const std::string& range) {
  return parse_param_schema(name, ParamType::floating, default_toml, range, {}, "");
}

ParamSchema choice(const std::string& name, const std::string& default_toml, const std::vector<std::string>& choices) {
  return parse_param_schema(name, ParamType::string, default_toml, "", choices, "");
}

}  // namespace

StubSchemas::StubSchemas() {
  const auto hidden = parse_param_schema("hidden", ParamType::integers, "[128]", "[1, 1e9]", {}, "");
  const auto path = parse_param_schema("path", ParamType::path, "", "", {}, "");
  add(ComponentKind::model, "small_cnn",
      {integer("channels", "1", "[1, 1e9]"), integer("classes", "10", "[1, 1e9]"), integer("width", "32", "[1, 1e9]")});
  add(ComponentKind::model, "mlp", {hidden, integer("classes", "10", "[1, 1e9]"), integer("inputs", "64", "[1, 1e9]")});
  add(ComponentKind::dataset, "digits", {choice("split", "\"train\"", {"train", "test"})});
  add(ComponentKind::dataset, "image_folder", {path, integer("image_size", "224", "[1, 16384]")});
  add(ComponentKind::loss, "cross_entropy", {number("label_smoothing", "0.0", "[0, 1)")});
  add(ComponentKind::metric, "accuracy", {});
  add(ComponentKind::callback, "early_stopping",
      {choice("monitor", "\"validation/loss\"", {}), choice("mode", "\"auto\"", {"auto", "min", "max"}),
       integer("patience", "3", "[1, 1e9]"), number("min_delta", "0.0", "[0, inf)")});
}

void StubSchemas::add(ComponentKind kind, const std::string& id, std::vector<ParamSchema> params) {
  schemas_[{kind, id}] = {kind, id, "", std::move(params)};
}

const ComponentSchema* StubSchemas::find_schema(ComponentKind kind, const std::string& id) const {
  const auto found = schemas_.find({kind, id});
  return found != schemas_.end() ? &found->second : nullptr;
}

std::vector<std::string> StubSchemas::component_ids(ComponentKind kind) const {
  std::vector<std::string> ids;
  for (const auto& [key, schema] : schemas_) {
    if (key.first == kind) ids.push_back(key.second);
  }
  return ids;
}

}  // namespace tenon::config
