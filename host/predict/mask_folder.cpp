#include "host/predict/mask_folder.h"

#include <ATen/ATen.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "framework/artifacts/drawing/encode_png.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::host {

using support::Error;
using support::ErrorKind;

namespace {

constexpr int64_t kLevels = 256;

void create_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw support::make_path_error(ErrorKind::configuration, folder, "cannot be created", failure.value());
}

}  // namespace

at::Tensor find_pixel_classes(const std::string& name, const at::Tensor& output) {
  at::Tensor classes = output;
  const bool holds_scores = output.dim() == 4 && c10::isFloatingType(output.scalar_type()) && output.size(1) > 0;
  if (holds_scores) {
    classes = output.size(1) == 1 ? output.squeeze(1).gt(0) : output.argmax(1);
  } else if (output.dim() != 3 || !c10::isIntegralType(output.scalar_type(), /*includeBool=*/true)) {
    throw Error(ErrorKind::configuration,
                "command line: --masks: the output " + name + " is " + components::describe(output) +
                    "; expected scores of classes, floats [N, C, H, W], or classes, integers [N, H, W]");
  }
  if (!holds_scores && classes.numel() > 0 &&
      (classes.min().item<int64_t>() < 0 || classes.max().item<int64_t>() >= kLevels))
    throw Error(ErrorKind::configuration, "command line: --masks: the output " + name +
                                              " has a class outside of [0, 255]; expected one of the levels of grey");
  if (holds_scores && output.size(1) > kLevels)
    throw Error(ErrorKind::configuration, "command line: --masks: the output " + name + " has " +
                                              std::to_string(output.size(1)) + " classes; expected at most " +
                                              std::to_string(kLevels) + ", the levels of grey");
  return classes.to(at::kByte).cpu().contiguous();
}

MaskFolder::MaskFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  create_folder(folder_);
  if (!support::list_folder(folder_, ErrorKind::configuration).empty())
    throw Error(ErrorKind::configuration, "command line: --masks: " + support::print_path(folder_) +
                                              ": has content; expected an empty folder, or one to create");
}

void MaskFolder::write(const at::Tensor& masks, const std::vector<std::string>& names, const at::Tensor& indices) {
  std::vector<std::byte> png;
  for (int64_t i = 0; i < masks.size(0); ++i) {
    const at::Tensor mask = masks[i];
    png.clear();
    artifacts::encode_png({static_cast<const std::byte*>(mask.const_data_ptr()), mask.nbytes()}, mask.size(0),
                          mask.size(1), 1, png);
    const std::filesystem::path file = choose_file(names.empty() ? std::to_string(indices[i].item<int64_t>()) + ".png"
                                                                 : names[static_cast<size_t>(i)]);
    create_folder(file.parent_path());
    artifacts::write_file_durably(file, {reinterpret_cast<const char*>(png.data()), png.size()},
                                  ErrorKind::configuration);
  }
}

std::filesystem::path MaskFolder::choose_file(const std::string& name) {
  std::filesystem::path inside;
  for (const std::filesystem::path& part : std::filesystem::path(name).lexically_normal().relative_path())
    if (part != ".." && part != ".") inside /= part;
  if (!inside.has_filename()) inside /= "unnamed";
  std::filesystem::path file = inside;
  file.replace_extension(".png");
  for (inside += ".png"; !taken_.insert(file).second; inside += ".png") file = inside;
  return folder_ / file;
}

}  // namespace tenon::host
