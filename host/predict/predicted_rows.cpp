#include "host/predict/predicted_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
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

using nlohmann::json;

// What a tensor of a message is.
enum class Part { column, top_classes, top_probabilities, mask, field, shapes };

struct PackedTensor {
  Part part;
  std::string name;
  at::Tensor tensor;
};

std::vector<PackedTensor> list_tensors(const PredictedRows& rows) {
  std::vector<PackedTensor> all;
  for (const auto& [name, tensor] : rows.tensors) all.push_back({Part::column, name, tensor});
  if (rows.top) {
    all.push_back({Part::top_classes, "", rows.top->classes});
    all.push_back({Part::top_probabilities, "", rows.top->probabilities});
  }
  if (rows.mask.defined()) all.push_back({Part::mask, "", rows.mask});
  for (const auto& [name, tensor] : rows.fields) all.push_back({Part::field, name, tensor});
  for (const auto& [name, tensor] : rows.shapes) all.push_back({Part::shapes, name, tensor});
  return all;
}

void take_tensor(PackedTensor given, PredictedRows& rows) {
  switch (given.part) {
    case Part::column: rows.tensors.emplace_back(std::move(given.name), std::move(given.tensor)); return;
    case Part::top_classes: rows.top.emplace().classes = std::move(given.tensor); return;
    case Part::top_probabilities: rows.top->probabilities = std::move(given.tensor); return;
    case Part::mask: rows.mask = std::move(given.tensor); return;
    case Part::shapes: rows.shapes[given.name] = std::move(given.tensor); return;
    case Part::field: rows.fields.emplace_back(std::move(given.name), std::move(given.tensor)); return;
  }
}

// A message is the length of its header, the header as JSON, and the elements of the tensors.
std::string pack_rows(const PredictedRows& rows) {
  json header{{"names", rows.names}, {"is_stopped", rows.is_stopped}};
  header["class_names"] = rows.class_names;
  header["texts"] = json::array();
  for (const reporting::TextColumn& column : rows.texts) header["texts"].push_back({column.name, column.rows});
  std::string elements;
  header["tensors"] = json::array();
  for (const PackedTensor& packed : list_tensors(rows)) {
    const at::Tensor& tensor = packed.tensor;
    header["tensors"].push_back(
        {static_cast<int>(packed.part), packed.name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
    elements.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  std::string message(sizeof length, '\0');
  std::memcpy(message.data(), &length, sizeof length);
  return message + text + elements;
}

PredictedRows unpack_rows(std::string_view message) {
  uint64_t length = 0;
  std::memcpy(&length, message.data(), sizeof length);
  const json header = json::parse(message.substr(sizeof length, length));
  const char* data = message.data() + sizeof length + length;
  PredictedRows rows;
  rows.names = header["names"].get<std::vector<std::string>>();
  rows.class_names = header["class_names"].get<config::ClassNames>();
  rows.is_stopped = header["is_stopped"].get<bool>();
  for (const json& column : header["texts"])
    rows.texts.push_back({column[0].get<std::string>(), column[1].get<std::vector<std::string>>()});
  for (const json& described : header["tensors"]) {
    at::Tensor tensor =
        at::empty(described[3].get<std::vector<int64_t>>(), static_cast<at::ScalarType>(described[2].get<int>()));
    std::memcpy(tensor.mutable_data_ptr(), data, tensor.nbytes());
    data += tensor.nbytes();
    take_tensor({static_cast<Part>(described[0].get<int>()), described[1].get<std::string>(), std::move(tensor)}, rows);
  }
  return rows;
}

constexpr int64_t kLevels = 256;

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

std::vector<PredictedRows> collect_rows(PredictedRows rows, distributed::ProcessGroup& group) {
  std::vector<PredictedRows> all;
  if (group.is_single()) {
    all.push_back(std::move(rows));
    return all;
  }
  const at::Tensor message = pipeline::to_byte_tensor(pack_rows(rows));
  const at::Tensor lengths = group.concatenate(at::tensor({message.size(0)}, at::kLong));
  const at::Tensor messages = group.concatenate(message);
  int64_t begin = 0;
  bool is_stopped = false;
  for (int64_t rank = 0; rank < group.size(); ++rank) {
    const int64_t length = lengths[rank].item<int64_t>();
    PredictedRows of_rank = unpack_rows(pipeline::to_bytes(messages.narrow(0, begin, length).contiguous()));
    begin += length;
    is_stopped = is_stopped || of_rank.is_stopped;
    if (group.rank() == 0 || group.rank() == rank) all.push_back(std::move(of_rank));
  }
  for (PredictedRows& of_rank : all) of_rank.is_stopped = is_stopped;
  return all;
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
      const auto shapes = rows.shapes.find(name);
      add_field(sample, name, tensor, row, shapes == rows.shapes.end() ? at::Tensor() : shapes->second);
    }
    if (rows.mask.defined()) add_field(sample, "predicted", rows.mask, row);
    if (rows.top) sample.lines = describe_top(*rows.top, row);
    for (const auto& column : rows.tensors) {
      const bool is_shown =
          std::ranges::any_of(rows.fields, [&](const auto& field) { return field.first == column.first; });
      if (column.first != "index" && !is_shown) add_output(sample, column.first, column.second, row);
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
                                int64_t row) {
  constexpr int64_t kMostNumbers = 64;
  const bool has_pixels =
      output.dim() == 4 && c10::isFloatingType(output.scalar_type()) && output.size(1) > 0 && output.size(1) <= kLevels;
  const int64_t count = output[row].numel();
  if (has_pixels)
    add_field(sample, "predicted from " + name, find_pixel_classes(name, output.narrow(0, row, 1)), 0);
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
