#include "host/predict/predicted_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/files/encode.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/build/connections.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "host/command_line/command.h"

namespace tenon::host {

using support::ErrorKind;

namespace {

constexpr int64_t kLevels = 256;

// The heights and widths of the images of a batch that is padded, int64 [N, 2]; undefined if none is. Predictions of
// pixels have the padding of the images.
at::Tensor find_pixel_shapes(const PredictedRows& rows) {
  for (const auto& [name, tensor] : rows.fields) {
    const auto shapes = rows.field_shapes.find(name);
    if (shapes == rows.field_shapes.end()) continue;
    if (tensor.dim() == 4 && tensor.is_floating_point()) return shapes->second.narrow(1, 1, 2);  // [N, C, H, W]
    if (tensor.dim() == 4) return shapes->second.narrow(1, 0, 2);                                // [N, H, W, C]
  }
  return {};
}

void create_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw support::make_path_error(ErrorKind::configuration, folder, "cannot be created", failure.value());
}

}  // namespace

TopColumns find_top_classes(const std::string& name, const at::Tensor& scores, int64_t count) {
  if (scores.dim() != 2 || !c10::isFloatingType(scores.scalar_type()) || scores.size(1) < count)
    throw_command_line_error(
        "--top-k {0}: the output {1} is {2}; expected floats [N, C] with C of at least {0}, the scores of classes: "
        "choose an output with --outputs",
        count, name, components::describe(scores));
  const at::Tensor probabilities = scores.to(at::kFloat).softmax(1);
  const auto [sorted, classes] = probabilities.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  return {classes.narrow(1, 0, count).cpu().contiguous(), sorted.narrow(1, 0, count).cpu().contiguous()};
}

reporting::PredictionRows view_rows(const PredictedRows& rows) {
  reporting::PredictionRows views;
  for (const auto& [name, tensor] : rows.tensors) views.tensors.push_back(pipeline::make_view(name, tensor));
  for (const auto& [name, tensor] : rows.tensors)
    if (const auto shapes = rows.shapes.find(name); shapes != rows.shapes.end())
      views.shapes.emplace(name, pipeline::make_view(name, shapes->second));
  views.texts = rows.texts;
  views.names = rows.names;
  if (rows.top)
    views.top = {pipeline::make_view("top.class", rows.top->classes),
                 pipeline::make_view("top.probability", rows.top->probabilities)};
  return views;
}

at::Tensor find_pixel_classes(const std::string& name, const at::Tensor& output) {
  at::Tensor classes = output;
  const bool holds_scores = output.dim() == 4 && c10::isFloatingType(output.scalar_type()) && output.size(1) > 0;
  if (holds_scores) {
    classes = output.size(1) == 1 ? output.squeeze(1).gt(0) : output.argmax(1);
  } else if (output.dim() != 3 || !c10::isIntegralType(output.scalar_type(), /*includeBool=*/true)) {
    throw_command_line_error(
        "--masks: the output {} is {}; expected scores of classes, floats [N, C, H, W], or classes, integers [N, H, W]",
        name, components::describe(output));
  }
  if (!holds_scores && classes.numel() > 0 &&
      (classes.min().item<int64_t>() < 0 || classes.max().item<int64_t>() >= kLevels))
    throw_command_line_error(
        "--masks: the output {} has a class outside of [0, 255]; expected one of the levels of grey", name);
  if (holds_scores && output.size(1) > kLevels)
    throw_command_line_error("--masks: the output {} has {} classes; expected at most {}, the levels of grey", name,
                             output.size(1), kLevels);
  return classes.to(at::kByte).cpu().contiguous();
}

MaskFolder::MaskFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  create_folder(folder_);
  if (!support::list_folder(folder_, ErrorKind::configuration).empty())
    throw_command_line_error("--masks: {}: has content; expected an empty folder, or one to create",
                             support::format_path(folder_));
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

PredictionPage::PredictionPage(std::filesystem::path file, config::ClassNames names, artifacts::ImageDetails details)
    : file_(std::move(file)), names_(std::move(names)), details_(std::move(details)) {}

void PredictionPage::add(const PredictedRows& rows) {
  for (const auto& [name, classes] : rows.class_names) names_[name == "top" ? "predicted" : name] = classes;
  has_mask_ = std::ranges::any_of(rows.fields, [](const auto& field) {
    return field.second.dim() == 3 && c10::isIntegralType(field.second.scalar_type(), /*includeBool=*/true);
  });
  const at::Tensor& indices = rows.tensors.front().second;
  for (int64_t row = 0; row < indices.size(0) && samples_.size() < kMost; ++row) {
    const bool wrong = is_wrong(rows, row);
    wrong_ += wrong;
    artifacts::SheetSample sample;
    sample.caption = rows.names.empty() ? "sample " + std::to_string(indices[row].item<int64_t>())
                                        : rows.names[static_cast<size_t>(row)];
    if (wrong) sample.caption += " (wrong)";
    for (const auto& [name, tensor] : rows.fields) {
      const auto shapes = rows.field_shapes.find(name);
      add_field(sample, name, tensor, row, shapes == rows.field_shapes.end() ? at::Tensor() : shapes->second);
    }
    const at::Tensor pixel_shapes = find_pixel_shapes(rows);
    if (rows.mask.defined()) add_field(sample, "predicted", rows.mask, row, pixel_shapes);
    if (rows.top) sample.lines = describe_top(*rows.top, row);
    for (const auto& column : rows.tensors) {
      const bool is_shown =
          std::ranges::any_of(rows.fields, [&](const auto& field) { return field.first == column.first; });
      if (column.first != "index" && !is_shown) add_output(sample, column.first, column.second, row, pixel_shapes);
    }
    samples_.push_back(std::move(sample));
  }
}

void PredictionPage::commit(const std::string& of_data) const {
  std::string title = of_data + ": " + std::to_string(samples_.size()) + " predictions";
  if (wrong_ > 0) title += ", " + std::to_string(wrong_) + " wrong";
  artifacts::write_file_durably(file_, artifacts::make_contact_sheet(title, samples_, names_, details_),
                                support::ErrorKind::configuration);
}

// If the data have masks, scores of the classes of pixels are shown as a mask. Many numbers say nothing to a reader.
void PredictionPage::add_output(artifacts::SheetSample& sample, const std::string& name, const at::Tensor& output,
                                int64_t row, const at::Tensor& pixel_shapes) {
  constexpr int64_t kMostNumbers = 64;
  const bool has_pixels =
      output.dim() == 4 && c10::isFloatingType(output.scalar_type()) && output.size(1) > 0 && output.size(1) <= kLevels;
  const int64_t count = output[row].numel();
  if (has_pixels)
    add_field(sample, "predicted from " + name, find_pixel_classes(name, output.narrow(0, row, 1)), 0,
              pixel_shapes.defined() ? pixel_shapes.narrow(0, row, 1) : pixel_shapes);
  else if (count > kMostNumbers)
    sample.lines.push_back(name + ": " + support::format_count(count, "value"));
  else
    add_field(sample, name, output, row);
}

void PredictionPage::add_field(artifacts::SheetSample& sample, const std::string& name, const at::Tensor& tensor,
                               int64_t row, const at::Tensor& shapes) {
  // The batch is reused.
  const at::Tensor& kept =
      tensors_.emplace_back(pipeline::take_sample(tensor, shapes, row).clone(at::MemoryFormat::Contiguous));
  sample.fields.push_back(pipeline::make_view(name, kept));
}

// A line for each class: "predicted: cat 93.1 %", "dog 5.2 %". The blank before % does not end a line.
std::vector<std::string> PredictionPage::describe_top(const TopColumns& top, int64_t row) const {
  const std::vector<std::string> names = config::find_classes(names_, "predicted");
  std::vector<std::string> lines;
  for (int64_t k = 0; k < top.classes.size(1); ++k)
    lines.push_back(fmt::format("{}{} {:.1f}\u00A0%", k > 0 ? "" : "predicted: ",
                                config::name_class(names, top.classes[row][k].item<int64_t>()),
                                100 * top.probabilities[row][k].item<double>()));
  return lines;
}

bool PredictionPage::is_wrong(const PredictedRows& rows, int64_t row) const {
  if (!rows.top) return false;
  const auto predicted = names_.find("predicted");
  for (const auto& [name, tensor] : rows.fields) {
    const auto classes = names_.find(name);
    const bool is_label = tensor.dim() == 1 && classes != names_.end() && predicted != names_.end() &&
                          classes->second == predicted->second;
    if (is_label) return tensor[row].item<int64_t>() != rows.top->classes[row][0].item<int64_t>();
  }
  return false;
}

}  // namespace tenon::host
