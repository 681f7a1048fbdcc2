#include "framework/artifacts/checkpoint/model_sizes.h"

#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

using nlohmann::json;

std::string format_model_sizes(const ModelSizes& sizes) { return json(sizes).dump(); }

ModelSizes read_model_sizes(const std::filesystem::path& file) {
  try {
    const SafetensorsFile opened(list_weight_files(file).front());
    const auto found = opened.metadata().find(kModelSizes);
    if (found == opened.metadata().end()) return {};
    const json object = json::parse(found->second, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) return {};
    ModelSizes sizes;
    for (const auto& [parameter, size] : object.items()) {
      if (!size.is_number_integer()) return {};
      sizes[parameter] = size.get<int64_t>();
    }
    return sizes;
  } catch (const support::Error&) {
    return {};
  }
}

}  // namespace tenon::artifacts
