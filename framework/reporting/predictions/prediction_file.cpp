#include "framework/reporting/predictions/prediction_file.h"

#include <tenon/abi.h>

#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/files/encode.h"
#include "framework/components/calls/ports.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::reporting {

namespace fs = std::filesystem;
using artifacts::TensorView;
using support::Error;
using support::ErrorKind;

namespace {

constexpr auto kKind = ErrorKind::configuration;

std::vector<int64_t> row_shape(const TensorView& tensor) { return {tensor.shape.begin() + 1, tensor.shape.end()}; }

// All rows must have the same shape. `before`: the row shape of the first batch.
void require_same_rows(const fs::path& path, const TensorView& tensor, const std::vector<int64_t>& before) {
  if (row_shape(tensor) == before) return;
  throw Error(kKind,
              "{}: {}: a sample has the shape {} here and had {} before; expected one shape for all samples: omit it "
              "with --outputs or --fields, let the dataset resize all samples, or reduce it to a fixed shape, for "
              "example with --apply argmax",
              path.string(), tensor.name, to_string(components::exact_shape(row_shape(tensor))),
              to_string(components::exact_shape(before)));
}

// Returns the shortest text that is read back with the same bits: `3`, `0.31`, `NaN`, `-Infinity`.
// REQUIRES: an integer or boolean dtype, TENON_FLOAT32 or TENON_FLOAT64.
std::string format_element(int32_t dtype, const std::byte* data) {
  const long double value = artifacts::read_element(dtype, data);
  if (!std::isfinite(value)) return artifacts::format_number(static_cast<double>(value));
  char digits[32], *const end = digits + sizeof digits;
  if (dtype == TENON_FLOAT64) return {digits, std::to_chars(digits, end, static_cast<double>(value)).ptr};
  if (dtype == TENON_FLOAT32) return {digits, std::to_chars(digits, end, static_cast<float>(value)).ptr};
  return std::to_string(static_cast<int64_t>(value));
}

bool is_integer(const TensorView& tensor) { return (TENON_ANY_INTEGER & TENON_DTYPE_BIT(tensor.dtype)) != 0; }

bool is_complex(const TensorView& tensor) {
  return tensor.dtype == TENON_COMPLEX64 || tensor.dtype == TENON_COMPLEX128;
}

const std::byte* row_data(const TensorView& tensor, int64_t row) {
  return tensor.data + static_cast<uint64_t>(row) * (tensor.bytes / static_cast<uint64_t>(tensor.shape.front()));
}

int64_t class_at(const TopClasses& top, int64_t i) {
  return static_cast<int64_t>(artifacts::read_element(TENON_INT64, top.classes.data + i * int64_t{sizeof(int64_t)}));
}

std::string format_json_element(int32_t dtype, const std::byte* data) {
  const std::string text = format_element(dtype, data);
  return text.find_first_of("NI") == std::string::npos ? text : '"' + text + '"';
}

// Appends a sample as nested lists. `padded`: the shape of its memory; `shape`: without the padding.
void print_json(std::string& text, int32_t dtype, std::span<const int64_t> padded, std::span<const int64_t> shape,
                const std::byte* data) {
  if (shape.empty()) {
    text += format_json_element(dtype, data);
    return;
  }
  uint64_t bytes = artifacts::find_stored_type(dtype)->bytes;  // of one element of the list
  for (const int64_t extent : padded.subspan(1)) bytes *= static_cast<uint64_t>(extent);
  text += '[';
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) text += ", ";
    print_json(text, dtype, padded.subspan(1), shape.subspan(1), data + static_cast<uint64_t>(i) * bytes);
  }
  text += ']';
}

// Whether the samples of the tensor differ in shape.
bool is_padded(const PredictionRows& rows, const TensorView& tensor) { return rows.shapes.contains(tensor.name); }

// Returns the shape of a sample without its padding.
std::vector<int64_t> sample_shape(const PredictionRows& rows, const TensorView& tensor, int64_t row) {
  std::vector<int64_t> shape = row_shape(tensor);
  const auto found = rows.shapes.find(tensor.name);
  if (found != rows.shapes.end() && !shape.empty())
    std::memcpy(shape.data(), row_data(found->second, row), shape.size() * sizeof(int64_t));
  return shape;
}

// Calls `visit` with each contiguous run of elements of a sample without its padding. `data`: the padded sample.
template <class Visit>
void visit_elements(std::span<const int64_t> padded, std::span<const int64_t> shape, const std::byte* data,
                    uint64_t bytes, const Visit& visit) {
  if (padded.empty() || std::ranges::equal(padded, shape)) return visit(std::span(data, bytes));
  const uint64_t part = padded[0] > 0 ? bytes / static_cast<uint64_t>(padded[0]) : 0;
  for (int64_t i = 0; i < shape[0]; ++i)
    visit_elements(padded.subspan(1), shape.subspan(1), data + static_cast<uint64_t>(i) * part, part, visit);
}

// Collects the rows of samples of different shapes, in memory.
class CollectedTensors {
 public:
  explicit CollectedTensors(const PredictionRows& rows, const std::vector<TensorView>& tensors) {
    for (const TensorView& tensor : tensors)
      all_.push_back({tensor.name, tensor.dtype, row_shape(tensor), is_padded(rows, tensor)});
  }

  void append(const PredictionRows& rows, const std::vector<TensorView>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i)
      for (int64_t row = 0; row < tensors[i].shape.front(); ++row) {
        const std::vector<int64_t> shape = sample_shape(rows, tensors[i], row);
        Collected& one = all_[i];
        const std::vector<int64_t> padded = row_shape(tensors[i]);
        visit_elements(
            padded, shape, row_data(tensors[i], row),
            static_cast<uint64_t>(row_data(tensors[i], row + 1) - row_data(tensors[i], row)),
            [&](std::span<const std::byte> bytes) { one.bytes.insert(one.bytes.end(), bytes.begin(), bytes.end()); });
        one.shapes.push_back(shape);
      }
  }

  void write(const fs::path& path, const artifacts::Metadata& metadata) {
    std::vector<TensorView> views;
    for (Collected& one : all_) add_views(one, views);
    artifacts::write_safetensors(path, views, metadata, kKind);
  }

 private:
  struct Collected {
    std::string name;
    int32_t dtype;
    std::vector<int64_t> row_shape;  // of the first sample
    bool is_padded;
    std::vector<std::byte> bytes = {};
    std::vector<std::vector<int64_t>> shapes = {};  // of all samples
    std::vector<int64_t> offsets = {};
    std::vector<int64_t> all_shapes = {};
  };

  static void add_views(Collected& one, std::vector<TensorView>& views) {
    const auto samples = static_cast<int64_t>(one.shapes.size());
    const auto add = [&](const std::string& name, int32_t dtype, std::vector<int64_t> shape, const void* data) {
      uint64_t bytes = artifacts::find_stored_type(dtype)->bytes;
      for (const int64_t extent : shape) bytes *= static_cast<uint64_t>(extent);
      TENON_CHECK(name == one.name + ".offsets" || name == one.name + ".shapes" || bytes == one.bytes.size(),
                  name << " has " << one.bytes.size() << " bytes of " << bytes);
      views.push_back({name, dtype, std::move(shape), static_cast<const std::byte*>(data), bytes});
    };
    const auto rest = [](const std::vector<int64_t>& shape) { return std::vector(shape.begin() + 1, shape.end()); };
    if (!one.is_padded) {
      std::vector<int64_t> shape = one.row_shape;
      shape.insert(shape.begin(), samples);
      return add(one.name, one.dtype, std::move(shape), one.bytes.data());
    }
    const std::vector<int64_t> of_row = rest(one.shapes.front());
    const bool differs_in_first =
        std::ranges::all_of(one.shapes, [&](const auto& shape) { return rest(shape) == of_row; });
    std::vector<int64_t> values{0};
    if (differs_in_first) values.insert(values.end(), of_row.begin(), of_row.end());
    one.offsets.push_back(0);
    for (const std::vector<int64_t>& shape : one.shapes) {
      int64_t count = shape[0];
      for (size_t d = 1; !differs_in_first && d < shape.size(); ++d) count *= shape[d];
      one.offsets.push_back(one.offsets.back() + count);
      one.all_shapes.insert(one.all_shapes.end(), shape.begin(), shape.end());
    }
    values[0] = one.offsets.back();
    add(one.name + ".values", one.dtype, std::move(values), one.bytes.data());
    add(one.name + ".offsets", TENON_INT64, {samples + 1}, one.offsets.data());
    if (!differs_in_first)
      add(one.name + ".shapes", TENON_INT64, {samples, static_cast<int64_t>(one.row_shape.size())},
          one.all_shapes.data());
  }

  std::vector<Collected> all_;
};

// Rows of one shape are written one after another, without keeping them in memory.
class SafetensorsPredictions final : public PredictionFile {
 public:
  SafetensorsPredictions(fs::path path, int64_t max_rows) : path_(std::move(path)), max_rows_(max_rows) {}

  void append(const PredictionRows& rows) override {
    std::vector<TensorView> tensors = rows.tensors;
    if (rows.top) {
      tensors.push_back(rows.top->classes);
      tensors.back().name = "top.class";
      tensors.push_back(rows.top->probabilities);
      tensors.back().name = "top.probability";
    }
    if (!file_ && !collected_) rows.shapes.empty() ? open(tensors) : collect(rows, tensors);
    if (collected_) {
      for (size_t i = 0; i < tensors.size(); ++i)
        if (!is_padded(rows, tensors[i])) require_same_rows(path_, tensors[i], row_shapes_[i]);
      return collected_->append(rows, tensors);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      require_same_rows(path_, tensors[i], row_shapes_[i]);
      file_->append(i, std::span(tensors[i].data, tensors[i].bytes));
    }
  }

  void commit() override {
    if (file_) file_->commit();
    if (collected_) collected_->write(path_, artifacts::make_weights_metadata(names_));
  }

 private:
  void require_stored(const TensorView& tensor) const {
    if (!artifacts::find_stored_type(tensor.dtype))
      throw Error(kKind, "{}: {} is {}, which safetensors does not support; expected real numbers: omit it",
                  path_.string(), tensor.name, components::dtype_name(tensor.dtype));
  }

  void collect(const PredictionRows& rows, const std::vector<TensorView>& tensors) {
    for (const TensorView& tensor : tensors) {
      require_stored(tensor);
      row_shapes_.push_back(row_shape(tensor));
    }
    collected_.emplace(rows, tensors);
  }

  void open(std::span<const TensorView> tensors) {
    std::vector<artifacts::RowTensor> rows;
    for (const TensorView& tensor : tensors) {
      require_stored(tensor);
      rows.push_back({tensor.name, tensor.dtype, row_shape(tensor)});
      row_shapes_.push_back(row_shape(tensor));
    }
    file_.emplace(path_, std::move(rows), max_rows_, artifacts::make_weights_metadata(names_), kKind);
  }

  fs::path path_;
  int64_t max_rows_;
  std::vector<std::vector<int64_t>> row_shapes_;
  std::optional<artifacts::SafetensorsRows> file_;
  std::optional<CollectedTensors> collected_;  // in place of file_, if samples have different shapes
};

// Writes one line per sample. Each element of a vector has a column: `logits.0`, `logits.1`, ..., or `logits.cat` with
// the name of its class. The number of a class is followed by a column with its name: `label`, `label.name`. Columns of
// texts come last.
class CsvPredictions final : public PredictionFile {
 public:
  explicit CsvPredictions(fs::path path) : path_(path), file_(std::move(path), kKind) {}

  void append(const PredictionRows& rows) override {
    const std::vector<TensorView>& tensors = rows.tensors;
    std::string text;
    if (row_shapes_.empty()) text = start(rows);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!is_padded(rows, tensors[i])) require_same_rows(path_, tensors[i], row_shapes_[i]);
    for (int64_t row = 0; row < tensors.front().shape.front(); ++row) {
      for (const TensorView& tensor : tensors) {
        is_padded(rows, tensor) ? print_list(text, rows, tensor, row) : print_row(text, tensor, row);
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
      const bool is_list = is_padded(rows, tensor);
      if (!is_list && (shape.size() > 1 || (shape.size() == 1 && shape[0] > kMaxColumns)))
        throw Error(kKind,
                    "{}: {} of a sample is {}; expected a number, or a vector of up to {}, in a CSV file: write a "
                    ".safetensors file, or choose others with --outputs and --fields",
                    path_.string(), tensor.name, to_string(components::exact_shape(shape)), kMaxColumns);
      if (is_complex(tensor) || tensor.dtype == TENON_FLOAT16 || tensor.dtype == TENON_BFLOAT16)
        throw Error(kKind,
                    "{}: {} is {}; expected integers, booleans, float32 or float64 in a CSV file: omit it, or write a "
                    ".safetensors file",
                    path_.string(), tensor.name, components::dtype_name(tensor.dtype));
      if (is_list) header += artifacts::quote_for_csv(tensor.name) + ',';
      if (is_list) continue;
      const std::vector<std::string>* const names = find_names(tensor);
      if (shape.empty()) header += artifacts::quote_for_csv(tensor.name) + ',';
      if (shape.empty() && names) header += artifacts::quote_for_csv(tensor.name + ".name") + ',';
      const bool is_named = names && !shape.empty() && static_cast<int64_t>(names->size()) == shape[0];
      for (int64_t k = 0; !shape.empty() && k < shape[0]; ++k)
        header += artifacts::quote_for_csv(
                      fmt::format("{}.{}", tensor.name, is_named ? config::name_class(*names, k) : std::to_string(k))) +
                  ',';
      if (&tensor != &rows.tensors.front()) continue;
      if (!rows.names.empty()) header += "name,";
      for (int64_t k = 1; rows.top && k <= rows.top->classes.shape[1]; ++k)
        header += fmt::format("top.{0},top.{0}.probability,", k);
    }
    for (const TextColumn& column : rows.texts) header += artifacts::quote_for_csv(column.name) + ',';
    header.back() = '\n';
    return header;
  }

  void print_top(std::string& text, const TopClasses& top, int64_t row) const {
    const int64_t count = top.classes.shape[1];
    const auto names = names_.find("top");
    for (int64_t i = row * count; i < (row + 1) * count; ++i) {
      const int64_t number = class_at(top, i);
      text += (names == names_.end() ? std::to_string(number)
                                     : artifacts::quote_for_csv(config::name_class(names->second, number))) +
              ',';
      text += format_element(TENON_FLOAT32, top.probabilities.data + i * int64_t{sizeof(float)}) + ',';
    }
  }

  // The classes of the column; null: it has none. Only integers are numbers of classes.
  const std::vector<std::string>* find_names(const TensorView& tensor) const {
    const auto found = names_.find(tensor.name);
    const bool is_number = tensor.shape.size() == 1;
    return found == names_.end() || (is_number && !is_integer(tensor)) ? nullptr : &found->second;
  }

  static void print_list(std::string& text, const PredictionRows& rows, const TensorView& tensor, int64_t row) {
    std::string list;
    print_json(list, tensor.dtype, row_shape(tensor), sample_shape(rows, tensor, row), row_data(tensor, row));
    text += artifacts::quote_for_csv(list) + ',';
  }

  void print_row(std::string& text, const TensorView& tensor, int64_t row) const {
    const std::byte* const data = row_data(tensor, row);
    for (const std::byte* element = data; element < row_data(tensor, row + 1);
         element += artifacts::find_stored_type(tensor.dtype)->bytes)
      text += format_element(tensor.dtype, element) + ',';
    const std::vector<std::string>* const names = find_names(tensor);
    if (tensor.shape.size() > 1 || !names) return;
    const int64_t number = std::stoll(format_element(tensor.dtype, data));
    text += artifacts::quote_for_csv(config::name_class(*names, number)) + ',';
  }

  fs::path path_;
  artifacts::DurableFile file_;
  std::vector<std::vector<int64_t>> row_shapes_;
};

// Writes one object per sample and line. A tensor is a number or nested lists, of a shape that may differ between
// samples. The number of a class is followed by its name, as in a CSV file. NaN and infinities are strings, because
// JSON has no numbers for them.
class JsonPredictions final : public PredictionFile {
 public:
  explicit JsonPredictions(fs::path path) : path_(path), file_(std::move(path), kKind) {}

  void append(const PredictionRows& rows) override {
    for (const TensorView& tensor : rows.tensors)
      if (is_complex(tensor))
        throw Error(kKind, "{}: {} is {}; expected real numbers in a JSON file: omit it with --outputs or --fields",
                    path_.string(), tensor.name, components::dtype_name(tensor.dtype));
    std::string text;
    for (int64_t row = 0; row < rows.tensors.front().shape.front(); ++row) {
      text += '{';
      for (const TensorView& tensor : rows.tensors) {
        print_tensor(text, rows, tensor, row);
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
  static void print_key(std::string& text, const std::string& name) {
    if (text.back() != '{') text += ", ";
    text += artifacts::format_json_string(name) + ": ";
  }

  static void print_text(std::string& text, const std::string& name, const std::string& value) {
    print_key(text, name);
    text += artifacts::format_json_string(value);
  }

  void print_tensor(std::string& text, const PredictionRows& rows, const TensorView& tensor, int64_t row) const {
    print_key(text, tensor.name);
    const size_t begin = text.size();
    print_json(text, tensor.dtype, row_shape(tensor), sample_shape(rows, tensor, row), row_data(tensor, row));
    const auto names = names_.find(tensor.name);
    if (tensor.shape.size() > 1 || !is_integer(tensor) || names == names_.end()) return;
    const int64_t number = std::stoll(text.substr(begin));
    print_text(text, tensor.name + ".name", config::name_class(names->second, number));
  }

  void print_top(std::string& text, const TopClasses& top, int64_t row) const {
    const auto names = names_.find("top");
    const int64_t count = top.classes.shape[1];
    print_key(text, "top");
    text += '[';
    for (int64_t i = row * count; i < (row + 1) * count; ++i) {
      const int64_t number = class_at(top, i);
      text +=
          fmt::format("{}{{\"class\": {}, \"probability\": {}}}", i > row * count ? ", " : "",
                      names == names_.end() ? std::to_string(number)
                                            : artifacts::format_json_string(config::name_class(names->second, number)),
                      format_json_element(TENON_FLOAT32, top.probabilities.data + i * int64_t{sizeof(float)}));
    }
    text += ']';
  }

  fs::path path_;
  artifacts::DurableFile file_;
};

}  // namespace

bool PredictionFile::holds_text(const fs::path& path) { return path.extension() != ".safetensors"; }

std::unique_ptr<PredictionFile> PredictionFile::make(const fs::path& path, int64_t max_rows) {
  const std::string end = path.extension().string();
  if (end == ".csv") return std::make_unique<CsvPredictions>(path);
  if (end == ".jsonl") return std::make_unique<JsonPredictions>(path);
  if (end == ".safetensors") return std::make_unique<SafetensorsPredictions>(path, max_rows);
  throw Error(kKind, "command line: --output is \"{}\"; expected a name that ends in .csv, .jsonl or .safetensors",
              path.string());
}

}  // namespace tenon::reporting
