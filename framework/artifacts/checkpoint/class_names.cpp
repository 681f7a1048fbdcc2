#include "framework/artifacts/checkpoint/class_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/files/base64.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

std::string format_class_names(const config::ClassNames& names) {
  std::string text = "{";
  for (const auto& [field, classes] : names) {
    text += (text.size() == 1 ? "" : ", ") + format_json_string(field) + ": [";
    for (size_t i = 0; i < classes.size(); ++i) text += (i == 0 ? "" : ", ") + format_json_string(classes[i]);
    text += "]";
  }
  return text + "}";
}

config::ClassNames parse_class_names(std::string_view text) {
  using nlohmann::json;
  const json object = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return {};
  config::ClassNames names;
  for (const auto& [field, classes] : object.items()) {
    if (!classes.is_array() || !std::ranges::all_of(classes, [](const json& one) { return one.is_string(); }))
      return {};
    names[field] = classes.get<std::vector<std::string>>();
    if (config::find_name_fault(names[field])) return {};
  }
  return names;
}

Metadata make_weights_metadata(const config::ClassNames& names, const ModelSizes& sizes, const FittedData& fitted) {
  Metadata metadata{{"format", "pt"}};  // expected by Python libraries
  if (!names.empty()) metadata.emplace(kClassNames, format_class_names(names));
  if (!sizes.empty()) metadata.emplace(kModelSizes, format_model_sizes(sizes));
  if (!fitted.empty()) metadata.emplace(kFittedData, format_fitted_data(fitted));
  return metadata;
}

config::ClassNames read_class_names(const std::filesystem::path& file) {
  try {
    const SafetensorsFile opened(list_weight_files(file).front());
    const auto found = opened.metadata().find(kClassNames);
    return found == opened.metadata().end() ? config::ClassNames{} : parse_class_names(found->second);
  } catch (const support::Error&) {
    return {};
  }
}

std::string format_fitted_data(const FittedData& fitted) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [dataset, bytes] : fitted)
    object[dataset] = to_base64(std::as_bytes(std::span(bytes.data(), bytes.size())));
  return object.dump();
}

FittedData read_fitted_data(const std::filesystem::path& file) {
  try {
    const SafetensorsFile opened(list_weight_files(file).front());
    const auto found = opened.metadata().find(kFittedData);
    if (found == opened.metadata().end()) return {};
    using nlohmann::json;
    const json object = json::parse(found->second, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) return {};
    FittedData fitted;
    for (const auto& [dataset, text] : object.items()) {
      const auto bytes = text.is_string() ? from_base64(text.get_ref<const std::string&>()) : std::nullopt;
      if (!bytes) return {};
      fitted[dataset] = *bytes;
    }
    return fitted;
  } catch (const support::Error&) {
    return {};
  }
}

}  // namespace tenon::artifacts
