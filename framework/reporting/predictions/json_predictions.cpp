#include "framework/reporting/predictions/json_predictions.h"

#include <tenon/abi.h>

#include <string>
#include <utility>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/components/calls/ports.h"
#include "framework/reporting/predictions/print_element.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::reporting {

namespace fs = std::filesystem;
using artifacts::TensorView;

namespace {

void print_json_element(std::string& text, int32_t dtype, const std::byte* data) {
  const size_t begin = text.size();
  print_element(text, dtype, data);
  const bool is_number = text.find_first_of("NI", begin) == std::string::npos;
  if (is_number) return;
  text.insert(begin, 1, '"');
  text += '"';
}

// Prints the dimensions from `dimension` on, and moves `data` past their elements.
void print_json_tensor(std::string& text, const TensorView& tensor, size_t dimension, size_t element_bytes,
                       const std::byte*& data) {
  if (dimension == tensor.shape.size()) {
    print_json_element(text, tensor.dtype, data);
    data += element_bytes;
    return;
  }
  text += '[';
  for (int64_t i = 0; i < tensor.shape[dimension]; ++i) {
    if (i > 0) text += ", ";
    print_json_tensor(text, tensor, dimension + 1, element_bytes, data);
  }
  text += ']';
}

class JsonPredictions final : public PredictionFile {
 public:
  explicit JsonPredictions(fs::path path) : path_(path), file_(std::move(path), support::ErrorKind::configuration) {}

  void name_classes(const config::ClassNames& names) override { names_ = names; }

  void append(const PredictionRows& rows) override {
    for (const TensorView& tensor : rows.tensors) require_real(tensor);
    std::string text;
    for (int64_t row = 0; row < rows.tensors.front().shape.front(); ++row) {
      text += '{';
      for (const TensorView& tensor : rows.tensors) {
        print_tensor(text, tensor, row);
        if (&tensor != &rows.tensors.front()) continue;
        if (!rows.names.empty()) print_text(text, "name", rows.names[static_cast<size_t>(row)]);
        if (rows.top) print_top(text, *rows.top, row);
      }
      for (const TextColumn& column : rows.texts) print_text(text, column.name, column.rows[static_cast<size_t>(row)]);
      text += "}\n";
    }
    file_.write(text);
  }

  void commit() override { file_.commit(); }

 private:
  void require_real(const TensorView& tensor) const {
    if (tensor.dtype != TENON_COMPLEX64 && tensor.dtype != TENON_COMPLEX128) return;
    throw support::Error(support::ErrorKind::configuration,
                         path_.string() + ": " + tensor.name + " is " + components::dtype_name(tensor.dtype) +
                             "; expected real numbers in a JSON file: omit it with --outputs or --fields");
  }

  static void print_key(std::string& text, const std::string& name) {
    if (text.back() != '{') text += ", ";
    text += artifacts::format_json_string(name) + ": ";
  }

  static void print_text(std::string& text, const std::string& name, const std::string& value) {
    print_key(text, name);
    text += artifacts::format_json_string(value);
  }

  void print_tensor(std::string& text, const TensorView& tensor, int64_t row) const {
    const size_t row_bytes = tensor.bytes / static_cast<size_t>(tensor.shape.front());
    const size_t element_bytes = artifacts::find_stored_type(tensor.dtype)->bytes;
    const std::byte* data = tensor.data + static_cast<size_t>(row) * row_bytes;
    print_key(text, tensor.name);
    const size_t begin = text.size();
    print_json_tensor(text, tensor, 1, element_bytes, data);
    const bool is_integer = (TENON_ANY_INTEGER & TENON_DTYPE_BIT(tensor.dtype)) != 0;
    const auto names = names_.find(tensor.name);
    if (tensor.shape.size() > 1 || !is_integer || names == names_.end()) return;
    const int64_t number = std::stoll(text.substr(begin));
    print_text(text, tensor.name + ".name", config::name_class(names->second, number));
  }

  void print_top(std::string& text, const TopClasses& top, int64_t row) const {
    const auto names = names_.find("top");
    const int64_t count = top.classes.shape[1];
    print_key(text, "top");
    text += '[';
    for (int64_t i = row * count; i < (row + 1) * count; ++i) {
      const auto number = read_element<int64_t>(top.classes.data + i * int64_t{sizeof(int64_t)});
      if (i > row * count) text += ", ";
      text += "{\"class\": " + (names == names_.end()
                                    ? std::to_string(number)
                                    : artifacts::format_json_string(config::name_class(names->second, number)));
      text += ", \"probability\": ";
      print_json_element(text, TENON_FLOAT32, top.probabilities.data + i * int64_t{sizeof(float)});
      text += '}';
    }
    text += ']';
  }

  fs::path path_;
  artifacts::DurableFile file_;
  config::ClassNames names_;
};

}  // namespace

std::unique_ptr<PredictionFile> make_json_predictions(fs::path path) {
  return std::make_unique<JsonPredictions>(std::move(path));
}

}  // namespace tenon::reporting
