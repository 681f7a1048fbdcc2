#include "framework/artifacts/checkpoint/weights_metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/files/encode.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

using nlohmann::json;

namespace {

// Returns an empty text if there is no such entry.
std::string read_entry(const fs::path& file, const char* key) {
  try {
    const SafetensorsFile opened(list_weight_files(file).front());
    const auto found = opened.metadata().find(key);
    return found == opened.metadata().end() ? "" : found->second;
  } catch (const support::Error&) {
    return "";
  }
}

// Returns null for a text of another form.
json parse_object(std::string_view text) {
  json object = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return object.is_object() ? object : json();
}

}  // namespace

std::string format_class_names(const config::ClassNames& names) {
  std::string text = "{";
  for (const auto& [field, classes] : names)
    text += fmt::format("{}{}: [{}]", text.size() == 1 ? "" : ", ", format_json_string(field),
                        formats::join(classes, ", ", format_json_string));
  return text + "}";
}

config::ClassNames parse_class_names(std::string_view text) {
  config::ClassNames names;
  const json object = parse_object(text);
  for (const auto& [field, classes] : object.items()) {
    if (!classes.is_array() || !std::ranges::all_of(classes, [](const json& one) { return one.is_string(); }))
      return {};
    names[field] = classes.get<std::vector<std::string>>();
    if (config::find_name_fault(names[field])) return {};
  }
  return names;
}

config::ClassNames read_class_names(const fs::path& file) { return parse_class_names(read_entry(file, kClassNames)); }

std::string format_model_sizes(const ModelSizes& sizes) { return json(sizes).dump(); }

ModelSizes read_model_sizes(const fs::path& file) {
  ModelSizes sizes;
  const json object = parse_object(read_entry(file, kModelSizes));
  for (const auto& [parameter, size] : object.items()) {
    if (!size.is_number_integer()) return {};
    sizes[parameter] = size.get<int64_t>();
  }
  return sizes;
}

std::string format_fitted_data(const FittedData& fitted) {
  json object = json::object();
  for (const auto& [dataset, bytes] : fitted) object[dataset] = to_base64(std::as_bytes(std::span(bytes)));
  return object.dump();
}

FittedData read_fitted_data(const fs::path& file) { return parse_fitted_data(read_entry(file, kFittedData)); }

FittedData parse_fitted_data(std::string_view text) {
  FittedData fitted;
  const json object = parse_object(text);
  for (const auto& [dataset, encoded] : object.items()) {
    const auto bytes = encoded.is_string() ? from_base64(encoded.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) return {};
    fitted[dataset] = *bytes;
  }
  return fitted;
}

Metadata make_weights_metadata(const config::ClassNames& names, const ModelSizes& sizes, const FittedData& fitted) {
  Metadata metadata{{"format", "pt"}};  // expected by Python libraries
  if (!names.empty()) metadata.emplace(kClassNames, format_class_names(names));
  if (!sizes.empty()) metadata.emplace(kModelSizes, format_model_sizes(sizes));
  if (!fitted.empty()) metadata.emplace(kFittedData, format_fitted_data(fitted));
  return metadata;
}

}  // namespace tenon::artifacts
