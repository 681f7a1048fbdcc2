#include "plugins/datasets/parquet/column_classes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <tenon/error.hpp>

#include "framework/formats/class_names.h"
#include "plugins/datasets/shared/warn.h"

namespace parquet_dataset {
namespace {

using nlohmann::json;

// Null if `object` is no object or has no such key.
const json* find(const json* object, const char* key) {
  if (!object || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

std::string text_of(const json* value) { return value && value->is_string() ? value->get<std::string>() : ""; }

constexpr const char* kForm = "parquet/1";

}  // namespace

std::map<std::string, Feature> read_features(const std::string& text, const std::string& place) {
  std::map<std::string, Feature> features;
  if (text.empty()) return features;
  const json whole = json::parse(text.begin(), text.end(), nullptr, false);
  if (!whole.is_object()) {
    throw tenon::DataError(place +
                           ": its metadata \"huggingface\" is not a JSON object; expected that of the datasets "
                           "package; write the file again, or without this metadata");
  }
  const json* columns = find(find(&whole, "info"), "features");
  if (!columns || !columns->is_object()) return features;
  for (const auto& [name, column] : columns->items()) {
    const json* inner = &column;
    while (const json* element = find(inner, "feature")) inner = element;  // Sequence and List
    Feature feature{text_of(find(inner, "_type")), {}};
    if (const json* names = find(inner, "names"); names && feature.type == "ClassLabel") {
      const bool are_names = names->is_array() && std::all_of(names->begin(), names->end(),
                                                              [](const json& entry) { return entry.is_string(); });
      if (!are_names) {
        throw tenon::DataError(place + ": its metadata \"huggingface\" has no list of class names for the column \"" +
                               name + "\"; expected [\"name\", ...]; write the file again");
      }
      feature.classes = names->get<std::vector<std::string>>();
    }
    if (!feature.type.empty()) features[name] = std::move(feature);
  }
  return features;
}

std::set<std::string> read_index_columns(const std::string& text) {
  std::set<std::string> names;
  if (text.empty()) return names;
  const json whole = json::parse(text.begin(), text.end(), nullptr, false);
  const json* const columns = find(&whole, "index_columns");
  if (!columns || !columns->is_array()) return names;
  for (const json& column : *columns)
    if (column.is_string()) names.insert(column.get<std::string>());
  return names;
}

std::string format_multi_hot(const MultiHotClasses& classes) {
  return json{{"form", kForm}, {"multi_hot", classes}}.dump();
}

MultiHotClasses parse_multi_hot(std::string_view printed) {
  try {
    const auto parsed = json::parse(printed);
    if (parsed.at("form") == kForm) return parsed.at("multi_hot").get<MultiHotClasses>();
  } catch (const json::exception&) {
  }
  throw tenon::DataError("what the training data derived cannot be read; expected that of the dataset parquet");
}

std::vector<size_t> find_in_training(const std::vector<std::string>& names, const std::vector<std::string>& training,
                                     const std::string& place) {
  std::vector<size_t> places;
  for (const std::string& name : names) {
    const auto found = std::find(training.begin(), training.end(), name);
    if (found == training.end()) {
      throw tenon::DataError(place + " has the classes " + formats::list_briefly(names) +
                             ", and the training data have " + formats::list_briefly(training) +
                             "; expected only those: \"" + name +
                             "\" is not among them; remove or rename this class, or train with it");
    }
    places.push_back(static_cast<size_t>(found - training.begin()));
  }
  for (const std::string& name : training) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    datasets::warn(place + " lacks classes of the training data, such as \"" + name +
                   "\", which are 0 in every row; expected " + formats::list_briefly(training));
    break;
  }
  return places;
}

}  // namespace parquet_dataset
