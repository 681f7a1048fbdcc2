#include "framework/artifacts/checkpoint/class_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/support/error.h"

namespace tenon::artifacts {

std::string print_class_names(const config::ClassNames& names) {
  std::string text = "{";
  for (const auto& [field, classes] : names) {
    text += (text.size() == 1 ? "" : ", ") + print_json_string(field) + ": [";
    for (size_t i = 0; i < classes.size(); ++i) text += (i == 0 ? "" : ", ") + print_json_string(classes[i]);
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

Metadata make_weights_metadata(const config::ClassNames& names, const ModelSizes& sizes) {
  Metadata metadata{{"format", "pt"}};  // expected by Python libraries
  if (!names.empty()) metadata.emplace(kClassNames, print_class_names(names));
  if (!sizes.empty()) metadata.emplace(kModelSizes, print_model_sizes(sizes));
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

}  // namespace tenon::artifacts
