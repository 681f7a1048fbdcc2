#include "framework/reporting/predictions/prediction_file.h"

#include <tenon/abi.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/class_names.h"
#include "framework/artifacts/checkpoint/safetensors_rows.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/files/quote_for_csv.h"
#include "framework/components/calls/ports.h"
#include "framework/reporting/predictions/json_predictions.h"
#include "framework/reporting/predictions/print_element.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::reporting {

namespace fs = std::filesystem;
using artifacts::TensorView;
using support::Error;
using support::ErrorKind;

namespace {

constexpr auto kKind = ErrorKind::configuration;

[[noreturn]] void refuse(const fs::path& path, const std::string& message) {
  throw Error(kKind, path.string() + ": " + message);
}

std::vector<int64_t> row_shape(const TensorView& tensor) { return {tensor.shape.begin() + 1, tensor.shape.end()}; }

// All rows must have the same shape. `before`: the row shape of the first batch.
void require_same_rows(const fs::path& path, const TensorView& tensor, const std::vector<int64_t>& before) {
  if (row_shape(tensor) == before) return;
  refuse(path, tensor.name + ": a sample has the shape " + to_string(components::exact_shape(row_shape(tensor))) +
                   " here and had " + to_string(components::exact_shape(before)) +
                   " before; expected one shape for all samples: omit it with --outputs or --fields, let the dataset "
                   "resize all samples, or reduce it to a fixed shape, for example with --apply argmax");
}

class SafetensorsPredictions final : public PredictionFile {
 public:
  SafetensorsPredictions(fs::path path, int64_t max_rows) : path_(std::move(path)), max_rows_(max_rows) {}

  void name_classes(const config::ClassNames& names) override { names_ = names; }

  void append(const PredictionRows& rows) override {
    std::vector<TensorView> tensors = rows.tensors;
    if (rows.top) {
      tensors.push_back(rows.top->classes);
      tensors.back().name = "top.class";
      tensors.push_back(rows.top->probabilities);
      tensors.back().name = "top.probability";
    }
    if (!file_) open(tensors);
    for (size_t i = 0; i < tensors.size(); ++i) {
      require_same_rows(path_, tensors[i], row_shapes_[i]);
      file_->append(i, std::span(tensors[i].data, tensors[i].bytes));
    }
  }

  void commit() override { file_->commit(); }

 private:
  void open(std::span<const TensorView> tensors) {
    std::vector<artifacts::RowTensor> rows;
    for (const TensorView& tensor : tensors) {
      if (!artifacts::find_stored_type(tensor.dtype))
        refuse(path_, tensor.name + " is " + std::string(components::dtype_name(tensor.dtype)) +
                          ", which safetensors does not support; expected real numbers: omit it");
      rows.push_back({tensor.name, tensor.dtype, row_shape(tensor)});
      row_shapes_.push_back(row_shape(tensor));
    }
    file_.emplace(path_, std::move(rows), max_rows_, artifacts::make_weights_metadata(names_), kKind);
  }

  fs::path path_;
  int64_t max_rows_;
  config::ClassNames names_;
  std::vector<std::vector<int64_t>> row_shapes_;
  std::optional<artifacts::SafetensorsRows> file_;
};

// Writes one line per sample. Each element of a vector has a column: `logits.0`, `logits.1`, ..., or `logits.cat` with
// the name of its class. The number of a class is followed by a column with its name: `label`, `label.name`. Columns of
// texts come last.
class CsvPredictions final : public PredictionFile {
 public:
  explicit CsvPredictions(fs::path path) : path_(path), file_(std::move(path), kKind) {}

  void name_classes(const config::ClassNames& names) override { names_ = names; }

  void append(const PredictionRows& rows) override {
    const std::vector<TensorView>& tensors = rows.tensors;
    std::string text;
    if (row_shapes_.empty()) text = start(rows);
    for (size_t i = 0; i < tensors.size(); ++i) require_same_rows(path_, tensors[i], row_shapes_[i]);
    for (int64_t row = 0; row < tensors.front().shape.front(); ++row) {
      for (const TensorView& tensor : tensors) {
        print_row(text, tensor, row);
        if (&tensor != &tensors.front()) continue;
        if (!rows.names.empty()) text += artifacts::quote_for_csv(rows.names[static_cast<size_t>(row)]) + ',';
        if (rows.top) print_top(text, *rows.top, row);
      }
      for (const TextColumn& column : rows.texts)
        text += artifacts::quote_for_csv(column.rows[static_cast<size_t>(row)]) + ',';
      text.back() = '\n';
    }
    file_.write(text);
  }

  void commit() override { file_.commit(); }

 private:
  static constexpr int64_t kMaxColumns = 4096;  // maximum length of a vector

  std::string start(const PredictionRows& rows) {
    std::string header;
    for (const TensorView& tensor : rows.tensors) {
      row_shapes_.push_back(row_shape(tensor));
      const std::vector<int64_t>& shape = row_shapes_.back();
      if (shape.size() > 1 || (shape.size() == 1 && shape[0] > kMaxColumns))
        refuse(path_, tensor.name + " of a sample is " + to_string(components::exact_shape(shape)) +
                          "; expected a number, or a vector of up to " + std::to_string(kMaxColumns) +
                          ", in a CSV file: write a .safetensors file, or choose others with --outputs and --fields");
      if (tensor.dtype == TENON_COMPLEX64 || tensor.dtype == TENON_COMPLEX128 || tensor.dtype == TENON_FLOAT16 ||
          tensor.dtype == TENON_BFLOAT16)
        refuse(path_, tensor.name + " is " + std::string(components::dtype_name(tensor.dtype)) +
                          "; expected integers, booleans, float32 or float64 in a CSV file: omit it, or write a "
                          ".safetensors file");
      const std::vector<std::string>* const names = find_names(tensor);
      if (shape.empty()) header += artifacts::quote_for_csv(tensor.name) + ',';
      if (shape.empty() && names) header += artifacts::quote_for_csv(tensor.name + ".name") + ',';
      const bool is_named = names && !shape.empty() && static_cast<int64_t>(names->size()) == shape[0];
      for (int64_t k = 0; !shape.empty() && k < shape[0]; ++k)
        header += artifacts::quote_for_csv(tensor.name + '.' +
                                           (is_named ? config::name_class(*names, k) : std::to_string(k))) +
                  ',';
      if (&tensor != &rows.tensors.front()) continue;
      if (!rows.names.empty()) header += "name,";
      for (int64_t k = 1; rows.top && k <= rows.top->classes.shape[1]; ++k)
        header += "top." + std::to_string(k) + ",top." + std::to_string(k) + ".probability,";
    }
    for (const TextColumn& column : rows.texts) header += artifacts::quote_for_csv(column.name) + ',';
    header.back() = '\n';
    return header;
  }

  void print_top(std::string& text, const TopClasses& top, int64_t row) const {
    const int64_t count = top.classes.shape[1];
    const auto names = names_.find("top");
    for (int64_t i = row * count; i < (row + 1) * count; ++i) {
      const auto number = read_element<int64_t>(top.classes.data + i * int64_t{sizeof(int64_t)});
      text += (names == names_.end() ? std::to_string(number)
                                     : artifacts::quote_for_csv(config::name_class(names->second, number))) +
              ',';
      print_element(text, TENON_FLOAT32, top.probabilities.data + i * int64_t{sizeof(float)});
      text += ',';
    }
  }

  // The classes of the column; null: it has none. Only integers are numbers of classes.
  const std::vector<std::string>* find_names(const TensorView& tensor) const {
    const auto found = names_.find(tensor.name);
    const bool is_number = tensor.shape.size() == 1;
    const bool is_integer = (TENON_ANY_INTEGER & TENON_DTYPE_BIT(tensor.dtype)) != 0;
    return found == names_.end() || (is_number && !is_integer) ? nullptr : &found->second;
  }

  void print_row(std::string& text, const TensorView& tensor, int64_t row) const {
    const uint64_t row_bytes = tensor.bytes / static_cast<uint64_t>(tensor.shape.front());
    const uint64_t element = artifacts::find_stored_type(tensor.dtype)->bytes;
    const std::byte* data = tensor.data + static_cast<uint64_t>(row) * row_bytes;
    for (uint64_t done = 0; done < row_bytes; done += element) {
      print_element(text, tensor.dtype, data + done);
      text += ',';
    }
    const std::vector<std::string>* const names = find_names(tensor);
    if (tensor.shape.size() > 1 || !names) return;
    std::string number;
    print_element(number, tensor.dtype, data);
    text += artifacts::quote_for_csv(config::name_class(*names, std::stoll(number))) + ',';
  }

  fs::path path_;
  artifacts::DurableFile file_;
  config::ClassNames names_;
  std::vector<std::vector<int64_t>> row_shapes_;
};

}  // namespace

bool PredictionFile::holds_text(const fs::path& path) { return path.extension() != ".safetensors"; }

std::unique_ptr<PredictionFile> PredictionFile::make(const fs::path& path, int64_t max_rows) {
  const std::string end = path.extension().string();
  if (end == ".csv") return std::make_unique<CsvPredictions>(path);
  if (end == ".jsonl") return make_json_predictions(path);
  if (end == ".safetensors") return std::make_unique<SafetensorsPredictions>(path, max_rows);
  throw Error(kKind, "command line: --output is \"" + path.string() +
                         "\"; expected a name that ends in .csv, .jsonl or .safetensors");
}

}  // namespace tenon::reporting
