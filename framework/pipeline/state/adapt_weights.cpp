#include "framework/pipeline/state/adapt_weights.h"

#include <torch/types.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string_view>

#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

constexpr int64_t kRgb = 3;

bool is_position_embedding(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNames{"pos_embed", "pos_embedding", "position_embeddings"};
  const std::string_view last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  return std::ranges::find(kNames, last) != kNames.end();
}

// Whether a convolution makes tokens of this width of square patches.
bool has_patches(const std::vector<components::NamedTensor>& model, int64_t width) {
  return std::ranges::any_of(model, [&](const components::NamedTensor& named) {
    const at::Tensor& weight = named.tensor;
    return weight.dim() == 4 && weight.size(0) == width && weight.size(2) == weight.size(3) && weight.size(2) > 1;
  });
}

// The side of a square grid; nothing for other numbers of patches.
std::optional<int64_t> find_side(int64_t patches) {
  if (patches < 1) return std::nullopt;
  const auto side = std::llround(std::sqrt(static_cast<double>(patches)));
  return side * side == patches ? std::optional<int64_t>(side) : std::nullopt;
}

std::optional<AdaptedWeight> resample_positions(const at::Tensor& stored, int64_t tokens) {
  // Tokens before those of the patches: a class token; none; one of distillation, too; four registers, too.
  for (const int64_t prefix : {1, 0, 2, 5}) {
    const auto old_side = find_side(stored.size(1) - prefix), side = find_side(tokens - prefix);
    if (!old_side || !side) continue;
    at::Tensor grid = stored.narrow(1, prefix, *old_side * *old_side).to(at::kFloat);
    grid = grid.reshape({1, *old_side, *old_side, -1}).permute({0, 3, 1, 2});
    grid = at::_upsample_bicubic2d_aa(grid, {*side, *side}, /*align_corners=*/false);
    grid = grid.permute({0, 2, 3, 1}).reshape({1, *side * *side, -1}).to(stored.scalar_type());
    return AdaptedWeight{
        at::cat({stored.narrow(1, 0, prefix), grid}, 1),
        fmt::format("interpolated from {} x {} to {} x {} patches", *old_side, *old_side, *side, *side)};
  }
  return std::nullopt;
}

AdaptedWeight change_channels(const at::Tensor& stored, int64_t channels) {
  const std::string text = " over the 3 channels of the file";
  const at::Tensor values = stored.to(at::kFloat);
  if (channels == 1) return {values.sum(1, /*keepdim=*/true).to(stored.scalar_type()), "summed" + text};
  const at::Tensor repeated = values.repeat({1, (channels + kRgb - 1) / kRgb, 1, 1}).narrow(1, 0, channels);
  return {(repeated * (static_cast<double>(kRgb) / static_cast<double>(channels))).to(stored.scalar_type()),
          "repeated" + text};
}

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
  return formats::to_lower(config["architecture"].get<std::string>());
}

// The name of timm's model by the `architecture` in a config.json in the folder of the weights, as from Hugging Face.
// Otherwise by the name of the file, or of its folders if the file has a general name, such as model.safetensors. Lower
// case; empty if unknown.
std::string find_timm_model(const fs::path& weights) {
  const fs::path folder = support::is_folder(weights) ? weights : weights.parent_path();
  if (std::string architecture = read_architecture(folder); !architecture.empty()) return architecture;
  const std::string file = formats::to_lower(weights.filename().string());
  if (folder != weights && !file.starts_with("model") && !file.starts_with("pytorch_model"))
    return find_model_name(file);
  // "models--timm--resnet50.a1_in1k/snapshots/1a2b3c/model.safetensors" in Hugging Face's cache.
  constexpr int kMostFolders = 3;
  fs::path path = folder;
  for (int i = 0; i < kMostFolders && !path.empty(); ++i, path = path.parent_path())
    if (std::string name = find_model_name(formats::to_lower(path.filename().string())); !name.empty()) return name;
  return "";
}

bool is_left_out(const config::ComponentPlan& model, const char* name) {
  return std::ranges::find(model.left_out, name) != model.left_out.end();
}

[[noreturn]] void refuse(const fs::path& weights, const std::string& message) {
  throw support::Error(support::ErrorKind::checkpoint, "{}: {}", weights.string(), message);
}

// What efficientnet needs for weights of timm.
struct Convention {
  std::string padding;
  double norm_eps;
  std::string print() const {
    return fmt::format("padding = \"{}\", norm_eps = {}", padding, norm_eps == 1e-3 ? "1e-3" : "1e-5");
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
    if (is_chosen) return fmt::format("{}: {}", weights.string(), text);
    refuse(weights, text);
  }
  if (is_known || is_chosen) return "";
  const std::string text = "the tensors are named as in timm, and nothing shows which of its models they are of; ";
  const std::string expected_text = "set in model.params " + kSymmetric.print() + " for efficientnet_b0 to b8, or " +
                                    kSame.print() + " for tf_efficientnet_b0 to b8";
  if (!is_equal(found, kSame) && !is_equal(found, kSymmetric)) refuse(weights, text + "expected to " + expected_text);
  return fmt::format("{}: {}they run with {}: {}", weights.string(), text, found.print(), expected_text);
}

}  // namespace

std::optional<AdaptedWeight> adapt_weight(const components::NamedTensor& named, const at::Tensor& stored,
                                          const std::vector<components::NamedTensor>& model) {
  const at::NoGradGuard no_grad;
  const at::Tensor& tensor = named.tensor;
  if (!at::isFloatingType(stored.scalar_type()) || stored.dim() != tensor.dim()) return std::nullopt;
  const auto equals_except_1 = [&] {
    for (int64_t i = 0; i < stored.dim(); ++i)
      if (i != 1 && stored.size(i) != tensor.size(i)) return false;
    return true;
  };
  if (stored.dim() == 4 && equals_except_1() && stored.size(1) == kRgb) return change_channels(stored, tensor.size(1));
  if (stored.dim() == 3 && equals_except_1() && stored.size(0) == 1 && is_position_embedding(named.name) &&
      has_patches(model, stored.size(2)))
    return resample_positions(stored, tensor.size(1));
  return std::nullopt;
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
