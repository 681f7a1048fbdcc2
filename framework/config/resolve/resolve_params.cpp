#include "framework/config/resolve/resolve_params.h"

#include <algorithm>

#include "framework/config/file/suggest_key.h"
#include "framework/config/values/check_value.h"
#include "framework/formats/nearest_name.h"

namespace tenon::config {
namespace {

void reject_unknown(const ParamsRequest& question, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const ParamSchema& param : question.schema) names.push_back(param.name);
  for (const auto& [name, node] : question.given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string found = question.path + "." + name + " is not a parameter of " + question.id;
    const std::string other = formats::nearest_name(name, names) ? "" : find_key_of_other_table(question.path, name);
    diagnostics.add(node.key_place, found + (!other.empty()  ? formats::did_you_mean_name(other)
                                             : names.empty() ? ", which has none"
                                                             : formats::suggest_name(name, names)));
  }
}

Value make_absolute(Value value, const ParamSchema& param, const std::filesystem::path& folder) {
  if (param.type != ParamType::path) return value;
  return resolve_path(std::get<std::string>(value), folder).string();
}

// A required path names something. Where "" means none, it is the default.
bool is_empty_path(const Value& value, const ParamSchema& param) {
  return param.type == ParamType::path && !param.default_value && std::get<std::string>(value).empty();
}

}  // namespace

std::filesystem::path resolve_path(const std::string& path, const std::filesystem::path& folder) {
  return path.empty() ? std::filesystem::path() : (folder / path).lexically_normal();
}

Values resolve_params(const ParamsRequest& question, Diagnostics& diagnostics) {
  reject_unknown(question, diagnostics);
  Values values;
  for (const ParamSchema& param : question.schema) {
    const std::string key = question.path + "." + param.name;
    const auto given = question.given.find(param.name);
    std::optional<Value> value = param.default_value;
    if (given != question.given.end()) {
      value = check_value(given->second, param);
      if (!value)
        diagnostics.add(given->second.place, key + " is " + describe_mismatch(given->second, param));
      else if (is_empty_path(*value, param))
        diagnostics.add(given->second.place, key + " is \"\"; expected a path that is not empty");
    } else if (!value) {
      diagnostics.add(question.place, key + " is missing; expected " + describe_expected(param));
    }
    const SourceLocation& place = given != question.given.end() ? given->second.place : question.place;
    if (value) values[param.name] = make_absolute(std::move(*value), param, question.config.folder_of(place));
  }
  return values;
}

}  // namespace tenon::config
