// Reads arbitrary text as the metadata of Hugging Face in a Parquet file. Wrong text is refused with tenon::DataError,
// and the features of accepted text are read again from a text that describes them.
#include <nlohmann/json.hpp>
#include <string>

#include <tenon/error.hpp>

#include "plugins/datasets/parquet/column_classes.h"
#include "tests/fuzz/fuzz_target.h"

TENON_FUZZ_TARGET(huggingface_features) {
  using nlohmann::json;
  using namespace tenon::fuzz;
  try {
    const auto features = parquet_dataset::read_features(std::string(as_text(input)), "fuzzed.parquet");
    json columns = json::object();
    for (const auto& [column, feature] : features) {
      require(!feature.type.empty() && (feature.classes.empty() || feature.type == "ClassLabel"));
      columns[column] = {{"_type", feature.type}};
      if (feature.type == "ClassLabel" && !feature.classes.empty()) columns[column]["names"] = feature.classes;
    }
    const std::string printed = json{{"info", {{"features", columns}}}}.dump();
    require(parquet_dataset::read_features(printed, "printed.parquet") == features);
  } catch (const tenon::DataError&) {
  }
}
