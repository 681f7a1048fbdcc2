#include "framework/pipeline/state/timm_weights.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::pipeline {

namespace {

namespace fs = std::filesystem;

// Models of timm with other layers than the bundled model, in the order in which their names are searched.
struct OtherModel {
  std::string_view use;   // the bundled model
  std::string_view name;  // the beginning of the name in timm
  std::string_view what;  // what it has
};
constexpr std::array kOtherModels{OtherModel{"resnet", "resnetblur", "blurs before it reduces the size"},
                                  OtherModel{"resnet", "resnetaa", "averages before it reduces the size"},
                                  OtherModel{"resnet", "seresnet", "has squeeze-and-excitation layers"},
                                  OtherModel{"efficientnet", "efficientnet_blur", "blurs before it reduces the size"}};

const std::string kTensorflow = "tf_efficientnet_b", kEfficientnet = "efficientnet_b";

std::string to_lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// From the name of a known model to the end of the word: "tf_efficientnet_b0" of "my-tf_efficientnet_b0.ns_jft_in1k".
std::string find_model_name(const std::string& text) {
  constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const auto cut = [&](size_t at) { return text.substr(at, text.find_first_not_of(kWord, at) - at); };
  for (const OtherModel& other : kOtherModels)
    if (const size_t at = text.find(other.name); at != text.npos) return cut(at);
  for (const std::string& name : {kTensorflow, kEfficientnet}) {
    const size_t at = text.find(name), digit = at + name.size();
    if (at != text.npos && digit < text.size() && std::isdigit(static_cast<unsigned char>(text[digit]))) return cut(at);
  }
  return "";
}

std::string read_architecture(const fs::path& folder) {
  std::ifstream stream(folder / "config.json");
  if (!stream) return "";
  const nlohmann::json config = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object() || !config.contains("architecture") || !config["architecture"].is_string()) return "";
  return to_lower(config["architecture"].get<std::string>());
}

bool is_left_out(const config::ComponentPlan& model, const char* name) {
  return std::ranges::find(model.left_out, name) != model.left_out.end();
}

[[noreturn]] void refuse(const fs::path& weights, const std::string& message) {
  throw support::Error(support::ErrorKind::checkpoint, weights.string() + ": " + message);
}

// What efficientnet needs for weights of timm.
struct Convention {
  std::string padding;
  double norm_eps;
  std::string print() const {
    return "padding = \"" + padding + "\", norm_eps = " + (norm_eps == 1e-3 ? "1e-3" : "1e-5");
  }
};
const Convention kSame{"same", 1e-3}, kSymmetric{"symmetric", 1e-5};

Convention find_convention(const config::ComponentPlan& model) {
  double eps = std::get<double>(model.params.at("norm_eps"));
  const std::string& variant = std::get<std::string>(model.params.at("variant"));
  if (eps == 0) eps = variant >= "b5" ? kSame.norm_eps : kSymmetric.norm_eps;
  return {std::get<std::string>(model.params.at("padding")), eps};
}

bool is_equal(const Convention& a, const Convention& b) {
  return a.padding == b.padding && std::abs(a.norm_eps - b.norm_eps) < 1e-9;
}

std::string check_efficientnet(const config::ComponentPlan& model, const fs::path& weights, const std::string& name) {
  const Convention found = find_convention(model);
  const bool is_chosen = !is_left_out(model, "padding") && !is_left_out(model, "norm_eps");
  const bool is_known = name.starts_with(kTensorflow) || name.starts_with(kEfficientnet);
  const Convention& expected = name.starts_with(kTensorflow) ? kSame : kSymmetric;
  if (is_known && !is_equal(found, expected)) {
    const std::string text = "the name says that these are weights of timm's " + name + ", which needs " +
                             expected.print() + " in model.params; the model has " + found.print();
    if (is_chosen) return weights.string() + ": " + text;
    refuse(weights, text);
  }
  if (is_known || is_chosen) return "";
  const std::string text = "the tensors are named as in timm, and nothing shows which of its models they are of; ";
  const std::string expected_text = "set in model.params " + kSymmetric.print() + " for efficientnet_b0 to b8, or " +
                                    kSame.print() + " for tf_efficientnet_b0 to b8";
  if (!is_equal(found, kSame) && !is_equal(found, kSymmetric)) refuse(weights, text + "expected to " + expected_text);
  return weights.string() + ": " + text + "they run with " + found.print() + ": " + expected_text;
}

}  // namespace

std::string find_timm_model(const fs::path& weights) {
  const fs::path folder = support::is_folder(weights) ? weights : weights.parent_path();
  if (std::string architecture = read_architecture(folder); !architecture.empty()) return architecture;
  const std::string file = to_lower(weights.filename().string());
  if (folder != weights && !file.starts_with("model") && !file.starts_with("pytorch_model"))
    return find_model_name(file);
  // "models--timm--resnet50.a1_in1k/snapshots/1a2b3c/model.safetensors" in Hugging Face's cache.
  constexpr int kMostFolders = 3;
  fs::path path = folder;
  for (int i = 0; i < kMostFolders && !path.empty(); ++i, path = path.parent_path())
    if (std::string name = find_model_name(to_lower(path.filename().string())); !name.empty()) return name;
  return "";
}

std::string check_timm_weights(const config::ComponentPlan& model, const fs::path& weights,
                               const std::vector<artifacts::TensorView>& tensors) {
  const std::string name = find_timm_model(weights);
  for (const OtherModel& other : kOtherModels)
    if (model.use == other.use && name.find(other.name) != name.npos)
      refuse(weights, "the name says that these are weights of timm's " + name + ", which " + std::string(other.what) +
                          "; the model " + model.use +
                          " computes something else, though the tensors may fit; expected timm's model as an exported "
                          "one, see the guide \"Train a timm model\", or another name of the file");
  const bool has_names_of_timm = std::ranges::any_of(
      tensors, [](const artifacts::TensorView& tensor) { return tensor.name.ends_with("conv_stem.weight"); });
  if (model.use == "efficientnet" && has_names_of_timm && model.params.contains("padding"))
    return check_efficientnet(model, weights, name);
  return "";
}

}  // namespace tenon::pipeline
