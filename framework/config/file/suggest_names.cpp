#include "framework/config/file/suggest_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "framework/config/file/read_run_config.h"
#include "framework/formats/nearest_name.h"
#include "framework/formats/strings.h"

namespace tenon::config {
namespace {

struct OtherName {
  std::string_view name, key;
};

// Names of PyTorch Lightning, the Hugging Face Trainer, timm, torchrun and common scripts.
constexpr std::array kOtherNames = {
    OtherName{"accelerator", "run.device"},
    OtherName{"accumulate_grad_batches", "train.accumulate"},
    OtherName{"amp", "train.precision"},
    OtherName{"callbacks", "callback"},
    OtherName{"ckpt", "checkpoint"},
    OtherName{"ckpt_path", "model.weights"},
    OtherName{"clip_grad", "train.clip_norm"},
    OtherName{"criterion", "loss"},
    OtherName{"dataloader_num_workers", "data.workers"},
    OtherName{"dataset", "data.train"},
    OtherName{"devices", "distributed.processes"},
    OtherName{"dtype", "train.precision"},
    OtherName{"ema", "train.average"},
    OtherName{"eval_steps", "validation.every"},
    OtherName{"gpus", "distributed.processes"},
    OtherName{"grad_accum", "train.accumulate"},
    OtherName{"grad_clip", "train.clip_norm"},
    OtherName{"gradient_accumulation_steps", "train.accumulate"},
    OtherName{"gradient_clip", "train.clip_norm"},
    OtherName{"gradient_clip_val", "train.clip_norm"},
    OtherName{"gradient_clipping", "train.clip_norm"},
    OtherName{"iterations", "train.steps"},
    OtherName{"learning_rate", "optimizer.lr"},
    OtherName{"log_dir", "run.output_dir"},
    OtherName{"logging_steps", "log.every"},
    OtherName{"lr", "optimizer.lr"},
    OtherName{"lr_scheduler", "schedule"},
    OtherName{"max_epochs", "train.epochs"},
    OtherName{"max_grad_norm", "train.clip_norm"},
    OtherName{"max_steps", "train.steps"},
    OtherName{"mixed_precision", "train.precision"},
    OtherName{"momentum", "optimizer.momentum"},
    OtherName{"n_epochs", "train.epochs"},
    OtherName{"nproc_per_node", "distributed.processes"},
    OtherName{"num_epochs", "train.epochs"},
    OtherName{"num_steps", "train.steps"},
    OtherName{"num_train_epochs", "train.epochs"},
    OtherName{"num_workers", "data.workers"},
    OtherName{"output", "run.output_dir"},
    OtherName{"per_device_train_batch_size", "data.batch_size"},
    OtherName{"pretrained", "model.weights"},
    OtherName{"save_dir", "run.output_dir"},
    OtherName{"save_steps", "checkpoint.every"},
    OtherName{"scheduler", "schedule"},
    OtherName{"train_batch_size", "data.batch_size"},
    OtherName{"val", "data.validation"},
    OtherName{"val_check_interval", "validation.every"},
    OtherName{"warmup", "schedule.warmup"},
    OtherName{"warmup_steps", "schedule.warmup_steps"},
    OtherName{"weight_decay", "optimizer.weight_decay"},
    OtherName{"world_size", "distributed.processes"},
};

// What other programs call `use`.
constexpr std::array<std::string_view, 7> kNamesOfUse = {"_target_", "class", "class_name", "id",
                                                         "kind",     "name",  "type"};

// The keys of the run file, without those of lists, of which there may be several.
const std::set<std::string>& run_file_keys() {
  static const std::set<std::string> keys = [] {
    std::set<std::string> found;
    for (const RequestedKey& key : list_run_file_keys())
      if (key.path.find_first_of("[*") == std::string::npos) found.insert(key.path);
    return found;
  }();
  return keys;
}

std::string join(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

// Returns the only key that ends with these parts. "" if there is none, or several.
std::string find_only_key(const std::string& end) {
  std::string found;
  const std::string after_dot = "." + end;
  for (const std::string& key : run_file_keys()) {
    if (key != end && !key.ends_with(after_dot)) continue;
    if (!found.empty()) return "";
    found = key;
  }
  return found;
}

std::string find_other_name(const std::string& key) {
  const auto other = std::ranges::find(kOtherNames, key, &OtherName::name);
  return other == kOtherNames.end() ? "" : std::string(other->key);
}

bool has(const std::vector<std::string>& known, const std::string& key) {
  return std::ranges::find(known, key) != known.end();
}

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
    if (!schema || !has_word(formats::to_lower(schema->doc), word)) continue;
    if (found) return std::nullopt;
    found = id;
  }
  return found;
}

}  // namespace

std::string find_key_of_other_table(const std::string& path, const std::string& key) {
  if (!path.empty())  // [validation] with `use` is [data.validation]; [train.data] is [data.train]
    for (const std::string& end : {join(path, key), join(key, path)})
      if (const std::string found = find_only_key(end); !found.empty()) return found;
  std::string found = find_only_key(key);
  if (found.empty()) found = find_other_name(key);
  return found == path || found == join(path, key) ? "" : found;
}

std::string suggest_key(const std::string& path, const std::string& key, const std::vector<std::string>& known) {
  const bool is_component = has(known, "use") && has(known, "params");
  if (has(known, "use") && std::ranges::find(kNamesOfUse, key) != kNamesOfUse.end())
    return formats::did_you_mean_name("use");
  if (const std::string other = find_key_of_other_table(path, key); !other.empty()) {
    if (other == key) return "; write it before the first table of the file";
    // A key of the same table is shown without the table, as in the file.
    const std::string prefix = path.empty() ? "" : path + ".";
    return formats::did_you_mean_name(other.starts_with(prefix) ? other.substr(prefix.size()) : other);
  }
  if (const auto nearest = formats::nearest_name(key, known)) return formats::did_you_mean_name(*nearest);
  if (is_component) return "; did you mean \"" + join(path, "params." + key) + "\", a parameter of the component?";
  return formats::suggest_name(key, known);
}

std::string suggest_table(const std::string& path, const Node& node) {
  const auto in_braces = [&](const std::string& content) {
    return "; write " + path.substr(path.rfind('.') + 1) + " = { " + content + " }";
  };
  const bool is_scalar = node.as_array() == nullptr;
  if (path == "data.class_names")
    return in_braces("label = " + (is_scalar ? "[" + node.text + "]" : node.text)) + ", with the name of the field";
  if (path == "data.folds" && is_scalar) return in_braces("count = " + node.text);
  constexpr std::array<std::string_view, 7> kChoices = {"model",     "data.train", "data.validation", "data.test",
                                                        "optimizer", "schedule",   "train.average"};
  const bool is_choice = node.as_string() != nullptr && std::ranges::find(kChoices, path) != kChoices.end();
  return is_choice ? in_braces("use = " + node.text) : "";
}

std::string suggest_component(ComponentKind kind, const std::string& id, const SchemaSource& schemas) {
  const std::vector<std::string> ids = schemas.component_ids(kind);
  // The file of a plugin: "plugins/mlp.so".
  const std::string name = id.ends_with(".so") ? std::filesystem::path(id).stem().string() : id;
  const std::string lower = formats::to_lower(name);
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
