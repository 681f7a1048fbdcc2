#include "plugins/datasets/parquet/multi_hot_classes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <tenon/error.hpp>

#include "framework/formats/class_names.h"
#include "plugins/datasets/shared/warn.h"

namespace parquet_dataset {

namespace {

constexpr const char* kForm = "parquet/1";

}  // namespace

std::string format_multi_hot(const MultiHotClasses& classes) {
  return nlohmann::json{{"form", kForm}, {"multi_hot", classes}}.dump();
}

MultiHotClasses parse_multi_hot(std::string_view printed) {
  try {
    const auto parsed = nlohmann::json::parse(printed);
    if (parsed.at("form") == kForm) return parsed.at("multi_hot").get<MultiHotClasses>();
  } catch (const nlohmann::json::exception&) {
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
