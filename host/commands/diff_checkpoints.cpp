// `host checkpoint diff A B`: compares the tensors of two checkpoints or files.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/components/calls/ports.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/text/format.h"
#include "host/command_line/command.h"
#include "host/training/inspected_files.h"

namespace tenon::host {

namespace {

constexpr int kTensorsDiffer = 9;  // exit code

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using artifacts::TensorDifference;
using artifacts::TensorView;

// A tensor that differs between the two sides.
struct DifferentTensor {
  std::string name;
  const TensorView* a;                         // null: only in b
  const TensorView* b;                         // null: only in a
  std::optional<TensorDifference> difference;  // only if dtype and shape are the same, and both have the values
};

// One side of a comparison.
struct Side {
  StoredTensors stored = StoredTensors();  // none: the checkpoint has no such file
  // The frozen parameters that the checkpoint leaves out, without values, and their digests.
  std::vector<TensorView> excluded = {};
  std::map<std::string, std::string> digests = {};

  std::vector<const TensorView*> tensors() const {
    std::vector<const TensorView*> all = stored.all();
    for (const TensorView& tensor : excluded) all.push_back(&tensor);
    return all;
  }

  const TensorView* find(const std::string& name) const {
    if (const TensorView* const tensor = stored.find(name)) return tensor;
    const auto found = std::ranges::find(excluded, name, &TensorView::name);
    return found == excluded.end() ? nullptr : &*found;
  }

  bool has_values(const std::string& name) const { return !digests.contains(name); }

  std::string digest(const TensorView& tensor) const {
    const auto found = digests.find(tensor.name);
    return found != digests.end()
               ? found->second
               : support::xxh128({reinterpret_cast<const char*>(tensor.data), static_cast<size_t>(tensor.bytes)});
  }
};

struct ComparedFile {
  std::string name;
  Side a, b;
  size_t equal = 0;
  std::vector<DifferentTensor> different;
};

void compare(ComparedFile& file) {
  for (const TensorView* const a : file.a.tensors()) {
    const TensorView* const b = file.b.find(a->name);
    const bool has_values = file.a.has_values(a->name) && file.b.has_values(a->name);
    std::optional<TensorDifference> difference;
    if (b && a->shape == b->shape && has_values) difference = artifacts::compare_tensors(*a, *b);
    const bool is_same_type = b && a->shape == b->shape && a->dtype == b->dtype;
    const bool is_equal =
        is_same_type && (has_values ? difference->differing == 0 : file.a.digest(*a) == file.b.digest(*b));
    if (is_equal)
      ++file.equal;
    else
      file.different.push_back({a->name, a, b, difference});
  }
  for (const TensorView* const b : file.b.tensors())
    if (!file.a.find(b->name)) file.different.push_back({b->name, nullptr, b, {}});
}

using Paths = std::vector<fs::path>;

// Verifies the digests first: values of a damaged checkpoint are not compared.
Side open_side(const Paths& paths) {
  std::ranges::for_each(paths, artifacts::verify_checkpoint_file);
  return {.stored = StoredTensors(paths)};
}

// `model`: the path of the weights.
void add_excluded(Side& side, const fs::path& model) {
  for (const artifacts::ExcludedTensor& one : artifacts::find_excluded_tensors(model).tensors) {
    side.excluded.push_back({one.name, one.dtype, one.shape, nullptr, 0});
    side.digests.emplace(one.name, one.xxh128);
  }
}

fs::path model_path_of(const InspectedFiles& files) {
  return files.manifest ? artifacts::find_model_file(files.path) : files.path;
}

// For two checkpoints all files, otherwise only the weights.
std::vector<ComparedFile> compare_all(const InspectedFiles& a, const InspectedFiles& b) {
  const bool compares_all = a.manifest && b.manifest;
  std::map<std::string, Paths> of_a = group_by_content(a), of_b = group_by_content(b);
  std::vector<ComparedFile> files;
  ComparedFile& model = files.emplace_back();
  model.name = compares_all ? artifacts::kModelFile : model_path_of(a).filename().string();
  model.a = open_side(a.manifest ? of_a[artifacts::kModelFile] : a.tensor_files);
  model.b = open_side(b.manifest ? of_b[artifacts::kModelFile] : b.tensor_files);
  add_excluded(model.a, model_path_of(a));
  add_excluded(model.b, model_path_of(b));
  std::set<std::string> others;
  if (compares_all)
    for (const auto* groups : {&of_a, &of_b})
      for (const auto& [name, paths] : *groups)
        if (name != artifacts::kModelFile) others.insert(name);
  for (const std::string& name : others) {
    ComparedFile& file = files.emplace_back();
    file.name = name;
    file.a = open_side(of_a[name]);
    file.b = open_side(of_b[name]);
  }
  for (ComparedFile& file : files) compare(file);
  return files;
}

void add_row(reporting::TextTable& table, const DifferentTensor& tensor) {
  const auto add_words = [&](const std::string& words) { table.add({tensor.name, words, "", "", "", ""}); };
  if (!tensor.b) return add_words("only in A: " + describe_type(*tensor.a));
  if (!tensor.a) return add_words("only in B: " + describe_type(*tensor.b));
  const bool is_same_type = describe_type(*tensor.a) == describe_type(*tensor.b);
  const std::string types = describe_type(*tensor.a) + (is_same_type ? "" : " and " + describe_type(*tensor.b));
  if (!tensor.difference) return add_words(is_same_type ? types + ", a frozen parameter of other values" : types);
  const TensorDifference& difference = *tensor.difference;
  table.add({tensor.name, types,
             reporting::group_digits(difference.differing) + " of " + reporting::group_digits(difference.elements),
             fmt::format("{:.3g}", difference.max_absolute), fmt::format("{:.3g}", difference.max_relative),
             difference.max_ulps ? reporting::group_digits(*difference.max_ulps) : "-"});
}

void print_text(const ComparedFile& file) {
  size_t only_a = 0, only_b = 0;
  for (const DifferentTensor& tensor : file.different) {
    only_a += !tensor.b ? 1 : 0;
    only_b += !tensor.a ? 1 : 0;
  }
  reporting::write_output("{}: {} tensors are equal, {} differ, {} only in A, {} only in B\n", file.name, file.equal,
                          file.different.size() - only_a - only_b, only_a, only_b);
  if (file.different.empty()) return;
  reporting::TextTable table("llrrrr");
  table.add({"tensor", "", "values", "max abs", "max rel", "max ulps"});
  for (const DifferentTensor& tensor : file.different) add_row(table, tensor);
  reporting::write_output_text(table.format("  "));
}

Json to_json(const TensorView* tensor) {
  if (!tensor) return {};
  return {{"dtype", components::dtype_name(tensor->dtype)}, {"shape", tensor->shape}};
}

Json to_json(const std::optional<TensorDifference>& difference) {
  if (!difference) return {};
  return {{"elements", difference->elements},
          {"differing", difference->differing},
          {"max_absolute", Json::parse(artifacts::format_json_number(difference->max_absolute))},
          {"max_relative", Json::parse(artifacts::format_json_number(difference->max_relative))},
          {"max_ulps", difference->max_ulps ? Json(*difference->max_ulps) : Json()}};
}

Json to_json(const ComparedFile& file) {
  Json different = Json::array();
  for (const DifferentTensor& tensor : file.different)
    different.push_back({{"name", tensor.name},
                         {"a", to_json(tensor.a)},
                         {"b", to_json(tensor.b)},
                         {"difference", to_json(tensor.difference)}});
  return {{"name", file.name}, {"equal", file.equal}, {"different", different}};
}

// For two checkpoints it compares all safetensors files, for a checkpoint and a file the weights.
int diff_checkpoints(const Arguments& arguments) {
  const InspectedFiles a = find_inspected_files(arguments.positional()[0]),
                       b = find_inspected_files(arguments.positional()[1]);
  const std::vector<ComparedFile> files = compare_all(a, b);
  const bool is_same = std::ranges::all_of(files, [](const ComparedFile& file) { return file.different.empty(); });
  if (arguments.wants_json()) {
    Json all{{"a", a.path.string()}, {"b", b.path.string()}, {"same", is_same}, {"files", Json::array()}};
    for (const ComparedFile& file : files) all["files"].push_back(to_json(file));
    reporting::write_output_json(all);
  } else {
    reporting::write_output("A {}\nB {}\n", describe(a), describe(b));
    for (const ComparedFile& file : files) print_text(file);
  }
  return is_same ? 0 : kTensorsDiffer;
}

}  // namespace

extern const Command diff_checkpoints_command{
    .name = "checkpoint diff",
    .arguments = "A B",
    .purpose = "compare two checkpoints",
    .details = "Compares two checkpoints tensor by tensor. The exit code is 9 if they differ.",
    .page = "guides/checkpoint_tools.md",
    .add_options = add_json_option,
    .run = diff_checkpoints};

}  // namespace tenon::host
