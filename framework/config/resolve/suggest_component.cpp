#include "framework/config/resolve/suggest_component.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/config/file/suggest_key.h"
#include "framework/formats/nearest_name.h"

namespace tenon::config {
namespace {

struct OtherId {
  ComponentKind kind;
  std::string_view name, id;
};

// Names of PyTorch, torchmetrics, timm and Keras.
constexpr std::array kOtherIds = {
    OtherId{ComponentKind::dataset, "csv", "table"},
    OtherId{ComponentKind::dataset, "images", "image_folder"},
    OtherId{ComponentKind::dataset, "tabular", "table"},
    OtherId{ComponentKind::dataset, "text", "text_windows"},
    OtherId{ComponentKind::dataset, "webdataset", "tar_shards"},
    OtherId{ComponentKind::loss, "l2", "mse"},
    OtherId{ComponentKind::loss, "mae", "l1"},
    OtherId{ComponentKind::loss, "nll", "cross_entropy"},
    OtherId{ComponentKind::loss, "nll_loss", "cross_entropy"},
    OtherId{ComponentKind::loss, "softmax", "cross_entropy"},
    OtherId{ComponentKind::metric, "auroc", "roc_auc"},
    OtherId{ComponentKind::metric, "jaccard", "iou"},
    OtherId{ComponentKind::metric, "map", "average_precision"},
    OtherId{ComponentKind::metric, "miou", "iou"},
    OtherId{ComponentKind::metric, "top1", "accuracy"},
    OtherId{ComponentKind::metric, "top5", "accuracy"},
    OtherId{ComponentKind::model, "convnet", "small_cnn"},
};

std::string lower_case_of(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto is_letter = [&](size_t i) { return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])); };
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  return false;
}

std::optional<std::string> find_in_descriptions(ComponentKind kind, const std::string& word,
                                                const std::vector<std::string>& ids, const SchemaSource& schemas) {
  constexpr size_t kShortest = 3;
  std::optional<std::string> found;
  if (word.size() < kShortest) return found;
  for (const std::string& id : ids) {
    const ComponentSchema* const schema = schemas.find_schema(kind, id);
    if (!schema || !has_word(lower_case_of(schema->doc), word)) continue;
    if (found) return std::nullopt;
    found = id;
  }
  return found;
}

}  // namespace

std::string suggest_component(ComponentKind kind, const std::string& id, const SchemaSource& schemas) {
  const std::vector<std::string> ids = schemas.component_ids(kind);
  // The file of a plugin: "plugins/mlp.so".
  const std::string name = id.ends_with(".so") ? std::filesystem::path(id).stem().string() : id;
  const std::string lower = lower_case_of(name);
  for (const OtherId& other : kOtherIds)
    if (other.kind == kind && other.name == lower && std::ranges::find(ids, other.id) != ids.end())
      return formats::did_you_mean_name(other.id);
  if (const auto nearest = formats::nearest_name(name, ids)) return formats::did_you_mean_name(*nearest);
  if (const auto found = find_in_descriptions(kind, lower, ids, schemas)) return formats::did_you_mean_name(*found);
  if (kind == ComponentKind::callback)
    if (const std::string key = find_key_of_other_table("", lower); !key.empty())
      return "; did you mean \"" + key + "\", a key of the run file?";
  return formats::suggest_name(name, ids);
}

}  // namespace tenon::config
