// Rows of Parquet files: images, numbers, classes and texts. See docs/decisions/0034.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/draft/fitted_data.hpp>
#include <tenon/draft/images.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/class_names.h"
#include "framework/formats/content_hash.h"
#include "framework/formats/regular_file.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/parquet/column_classes.h"
#include "plugins/datasets/parquet/list_files.h"
#include "plugins/datasets/parquet/row_index.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/shared/split.h"
#include "plugins/datasets/shared/table_targets.h"
#include "plugins/datasets/shared/turned_images.h"
#include "plugins/text/tokenizer.h"

namespace parquet_dataset {
namespace {

using Kind = ChosenField::Kind;

// The bytes of an image in a cell.
class CellImage final : public tenon::draft::EmbeddedImage {
 public:
  // `bytes` must outlive this object.
  CellImage(const RowIndex& index, const RowIndex::Row& row, const std::string& column, std::string_view bytes)
      : EmbeddedImage(index.place(row, column)), index_(index), row_(row), bytes_(bytes) {}

  uint64_t byte_count() const override { return bytes_.size(); }
  void read(uint8_t* bytes) const override {
    if (bytes_.empty()) throw tenon::DataError(place() + " has no bytes; expected the bytes of an image file");
    std::copy(bytes_.begin(), bytes_.end(), bytes);
  }
  std::string identity() const override { return formats::identify_file(index_.path(row_)) + ", " + place(); }

 private:
  const RowIndex& index_;
  RowIndex::Row row_;
  std::string_view bytes_;
};

// The tokenizer of the text columns.
struct TextTokens {
  static std::vector<tenon::Param> schema() {
    return {tenon::param("tokenizer", tenon::Path()).doc("SentencePiece model for the columns of text"),
            tenon::param("max_tokens", 512).range("[1, 1e9]").doc("tokens of a text; a longer one is truncated"),
            tenon::param("pad_id", -1).range("[-1, 1e9]").doc("id for padding; -1: the tokenizer's padding id")};
  }

  explicit TextTokens(const tenon::Params& params)
      : tokenizer(text::read_tokenizer_file(params.path("tokenizer")), params.path("tokenizer")),
        max_tokens(static_cast<size_t>(params.integer("max_tokens"))),
        pad(text::special_id(params, "pad_id", tokenizer.special_ids().pad, tokenizer.vocabulary_size())) {}

  text::Tokenizer tokenizer;
  size_t max_tokens;
  int64_t pad;
};

std::optional<TextTokens> open_tokenizer(const tenon::Params& params) {
  const bool has_model = !params.path("tokenizer").empty();
  const bool has_text = !params.texts("text").empty();
  if (has_text != has_model) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       has_text
                           ? "the parameter \"text\" is given without \"tokenizer\"; expected a SentencePiece model"
                           : "the parameter \"tokenizer\" is given without \"text\"; expected columns with texts");
  }
  if (!has_text) return std::nullopt;
  return std::make_optional<TextTokens>(params);
}

class Parquet {
 public:
  struct Worker {
    std::optional<tenon::draft::ImageWorker> images = std::nullopt;
    size_t group = 0;
    std::shared_ptr<const RowGroup> rows = nullptr;  // the row group of the sample before
    std::vector<int32_t> tokens = {};
  };

  static std::vector<tenon::Param> schema() {
    const std::vector<tenon::Param> of_files = {
        tenon::required<tenon::Path>("path").doc(
            "folder of .parquet files, such as a downloaded Hugging Face dataset, one file, or a pattern such as "
            "data/train-*.parquet or {a,b}.parquet"),
        tenon::param("split", "")
            .doc("split of the files, from their names: train, validation, test, ...; all: all files; empty: the only "
                 "split of the folder"),
        tenon::param("part", "all")
            .choices({"all", "train", "validation"})
            .doc("rows to use: all, or one of two parts of the files, split by the names of the files and the numbers "
                 "of the rows; for a dataset without a validation split"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("fraction of the rows in the validation part; the train part has the rest"),
    };
    const std::vector<tenon::Param> memory = {
        tenon::param("row_group_bytes", int64_t{1} << 30)
            .range("[0, 1e15]")
            .doc("maximum memory for decoded row groups, which all workers share, in bytes; the ones used last are "
                 "kept, at least one")};
    return datasets::join_params(
        {of_files, ChosenColumns::schema(), TextTokens::schema(), memory, tenon::draft::image_params()});
  }

  // `fitted`: from fitted_data() of the training data; empty: these data determine the classes.
  Parquet(const tenon::Params& params, std::string_view fitted)
      : tokens_(open_tokenizer(params)),
        index_(list_files(params.path("path"), params.text("split")), params),
        fields_(index_.chosen().fields()),
        cache_(static_cast<uint64_t>(params.integer("row_group_bytes")),
               [this](size_t group) { return index_.read(group); }),
        turned_(describe_positions(params.texts("targets"))) {
    select_rows(params);
    number_classes();
    number_marks(fitted);
    warn_about_lists();
    if (std::any_of(fields_.begin(), fields_.end(), [](const auto& field) { return field.kind == Kind::image; })) {
      pipeline_.emplace(params);
      examine();
    }
    tenon::log_info(params.path("path") + ": " + std::to_string(size()) + " samples of " +
                    std::to_string(index_.files()) + (index_.files() == 1 ? " file" : " files") + " with " +
                    std::to_string(index_.groups().size()) + " row groups" + index_.chosen().describe_left_out());
    for (const std::string& warning : index_.chosen().warnings())
      tenon::log_warning(params.path("path") + ": " + warning);
  }
  Parquet(const Parquet&) = delete;

  std::vector<tenon::Field> fields() const {
    std::vector<tenon::Field> fields;
    for (const ChosenField& field : fields_) fields.push_back(describe(field));
    return fields;
  }

  std::vector<tenon::ClassNames> class_names() const {
    std::vector<tenon::ClassNames> classes;
    for (const ChosenField& field : fields_)
      if (!field.classes.empty() && field.kind != Kind::marks) classes.push_back({field.name, field.classes});
    return classes;
  }

  std::vector<tenon::Preprocessing> preprocessing() const {
    std::vector<tenon::Preprocessing> fields;
    for (const ChosenField& field : fields_)
      if (field.kind == Kind::image) fields.push_back(pipeline_->preprocessing(field.name));
    return fields;
  }

  std::string fitted_data() const {
    MultiHotClasses classes;
    for (const ChosenField& field : fields_)
      if (field.kind == Kind::marks) classes.emplace(field.name, field.classes);
    return format_multi_hot(classes);
  }

  int64_t size() const { return uses_part_ ? static_cast<int64_t>(selected_.size()) : index_.rows(); }

  std::string sample_name(int64_t index) const { return index_.name(row_of(index)); }

  uint64_t fingerprint() const { return formats::hash_elements(selected_, index_.hash()); }

  tenon::TokenizerInfo tokenizer() const {
    if (!tokens_) return {};
    tenon::TokenizerInfo info{{}, tokens_->tokenizer.vocabulary_size()};
    for (const ChosenField& field : fields_)
      if (field.kind == Kind::tokens) info.fields.push_back(field.name);
    info.pad = tokens_->pad;
    return info;
  }

  std::vector<int64_t> encode(std::string_view text) const {
    std::vector<int32_t> ids;
    tokens_->tokenizer.append_ids(text, ids);
    return {ids.begin(), ids.end()};
  }

  std::string decode(const std::vector<int64_t>& tokens) const { return tokens_->tokenizer.decode(tokens); }

  Worker open_worker(uint64_t, uint64_t) const {
    Worker worker;
    if (pipeline_) worker.images = pipeline_->open_worker();
    return worker;
  }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const RowIndex::Row row = index_.find(row_of(sample.index));
    if (!worker.rows || worker.group != row.group) {
      worker.rows = cache_.get(row.group);
      worker.group = row.group;
    }
    datasets::TurnedImages::Sample turns;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const ChosenField& field = fields_[i];
      const size_t column = field.columns.front();
      switch (field.kind) {
        case Kind::image: {
          // All images of a sample use the sample's seed, so images of one size get the same transforms.
          const CellImage image(index_, row, field.name, worker.rows->text(column, row.in_group));
          turned_.check(turns, worker.images->write(image, sample.seed, sink, field.name), image);
          break;
        }
        case Kind::numbers: write_numbers(*worker.rows, row, i, sink); break;
        case Kind::classes: *sink.slot<int64_t>(i) = number_of(worker.rows->text(column, row.in_group), row, i); break;
        case Kind::tokens: write_tokens(worker, worker.rows->text(column, row.in_group), i, sink); break;
        case Kind::stack:
          for (size_t k = 0; k < field.columns.size(); ++k)
            sink.slot<float>(i)[k] = read_float(*worker.rows, row, field.columns[k]);
          break;
        case Kind::marks: write_marks(*worker.rows, row, i, sink); break;
      }
    }
  }

 private:
  // `coordinates among the targets`: what belongs to the pixels of the images and is not transformed with them.
  std::string describe_positions(const std::vector<std::string>& targets) const {
    if (datasets::have_coordinates(targets)) return "coordinates among the targets";
    std::vector<std::string> names;
    for (const ChosenField& field : fields_)
      if (field.kind == Kind::numbers) names.push_back(field.name);
    return datasets::have_coordinates(names) ? "fields with coordinates" : "";
  }

  // Examines the images of the first row group that is used.
  void examine() const {
    std::vector<const ChosenField*> images;
    for (const ChosenField& field : fields_)
      if (field.kind == Kind::image) images.push_back(&field);
    const size_t group = index_.find(row_of(0)).group;
    int64_t samples = 1;
    while (samples < size() && index_.find(row_of(samples)).group == group) ++samples;
    try {
      const std::shared_ptr<const RowGroup> rows = cache_.get(group);
      turned_.examine(*pipeline_, static_cast<size_t>(samples), images.size(), [&](size_t number) {
        const ChosenField& field = *images[number % images.size()];
        const RowIndex::Row row = index_.find(row_of(static_cast<int64_t>(number / images.size())));
        return std::make_unique<CellImage>(index_, row, field.name, rows->text(field.columns.front(), row.in_group));
      });
      if (turned_.have_unturned()) turned_.warn_of_transforms(*pipeline_, are_fractions(*rows, samples));
    } catch (const tenon::Error& error) {
      if (error.status() != TENON_BAD_DATA) throw;  // reported when the sample is read
    }
  }

  // Whether the targets of the first samples lie between 0 and 1.
  bool are_fractions(const RowGroup& rows, int64_t samples) const {
    for (const ChosenField& field : fields_) {
      if (field.kind != Kind::stack) continue;
      for (int64_t i = 0; i < samples; ++i) {
        const RowIndex::Row row = index_.find(row_of(i));
        const auto is_fraction = [&](size_t column) {
          const float number = read_float(rows, row, column);
          return number >= 0 && number <= 1;
        };
        if (!std::all_of(field.columns.begin(), field.columns.end(), is_fraction)) return false;
      }
      return true;
    }
    return false;
  }

  void select_rows(const tenon::Params& params) {
    const std::string part = params.text("part");
    uses_part_ = part != "all";
    if (!uses_part_) return;
    const datasets::Split split(part, params.number("validation_fraction"));
    for (int64_t row = 0; row < index_.rows(); ++row)
      if (split.has(index_.name(row))) selected_.push_back(row);
    if (selected_.empty()) {
      throw tenon::DataError(params.path("path") + ": none of its rows falls into the part \"" + part +
                             "\"; change validation_fraction, or add rows");
    }
  }

  void number_classes() {
    numbers_.resize(fields_.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].kind != Kind::classes && !has_texts(fields_[i])) continue;
      if (fields_[i].classes.empty()) fields_[i].classes = find_classes(fields_[i]);
      for (const std::string& name : fields_[i].classes)
        numbers_[i].emplace(name, static_cast<int64_t>(numbers_[i].size()));
    }
  }

  // The elements of a multi-hot field are the classes of the training data.
  void number_marks(std::string_view fitted) {
    const MultiHotClasses training = fitted.empty() ? MultiHotClasses() : parse_multi_hot(fitted);
    places_.resize(fields_.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].kind != Kind::marks) continue;
      const auto found = training.find(fields_[i].name);
      const std::vector<std::string>& names = found == training.end() ? fields_[i].classes : found->second;
      places_[i] =
          find_in_training(fields_[i].classes, names, index_.path({0, 0}) + ": the column \"" + fields_[i].name + '"');
      fields_[i].classes = names;
    }
  }

  bool has_texts(const ChosenField& field) const {
    return index_.chosen().columns()[field.columns.front()].kind == Column::Kind::texts;
  }

  // The distinct texts of a column, in the order in which they are numbered.
  std::vector<std::string> find_classes(const ChosenField& field) const {
    const std::string place = index_.path({0, 0}) + ": the column \"" + field.name + '"';
    formats::NameCleaner cleaner;
    std::vector<std::string> names;
    for (const std::string& text : index_.list_texts(field.columns.front())) {
      names.push_back(cleaner.clean(text));
      if (formats::is_missing_value(names.back())) {
        throw tenon::DataError(place + " has a " + (names.back().empty() ? "blank" : "missing value, " + names.back()) +
                               "; expected the name of a class: remove the row, or list all names in the parameter "
                               "\"classes\" if this is one");
      }
    }
    if (const std::string changes = cleaner.describe_changes(); !changes.empty())
      tenon::log_warning(place + ": " + changes);
    names = formats::sort_names(std::move(names));
    tables::refuse_listed_classes(names, place, /*has_separator=*/false);
    tables::check_names(names, place,
                        "write it the same way everywhere, or list all names in the parameter \"classes\" if they are "
                        "two classes");
    if (field.kind == Kind::classes)
      tables::warn_of_many_classes(names.size(), static_cast<size_t>(index_.rows()), place);
    tables::report_order(names, place);
    return names;
  }

  // Lists that are probably sets of classes, and not sequences, are padded and compared as numbers.
  void warn_about_lists() const {
    for (const ChosenField& field : fields_) {
      const size_t place = field.columns.front();
      const Column& column = index_.chosen().columns()[place];
      if (field.kind != Kind::numbers || column.kind != Column::Kind::list || column.dtype != TENON_INT64) continue;
      const bool has_name =
          field.name.find("label") != std::string::npos || field.name.find("class") != std::string::npos;
      if ((!has_name && field.classes.empty()) || !index_.has_uneven_lists(place)) continue;
      tenon::log_warning(index_.path({0, 0}) + ": the column \"" + field.name +
                         "\" has lists of integers of different lengths, which are padded with 0; if they are the "
                         "classes of a row, and not a sequence, list the column in the parameter \"multi_hot\"");
    }
  }

  tenon::Field describe(const ChosenField& field) const {
    const Column& column = index_.chosen().columns()[field.columns.front()];
    switch (field.kind) {
      case Kind::image: return pipeline_->field(field.name, "the image");
      case Kind::classes: return {field.name, TENON_INT64, {}, "the class, from 0"};
      case Kind::tokens:
        return {field.name, TENON_INT64, {-1}, "the tokens of the text", static_cast<double>(tokens_->pad)};
      case Kind::stack:
        return {field.name, TENON_FLOAT32, {static_cast<int64_t>(field.columns.size())}, "the numbers of the columns"};
      case Kind::marks:
        return {field.name, TENON_FLOAT32, {static_cast<int64_t>(field.classes.size())}, "1 for each class, else 0"};
      case Kind::numbers: break;
    }
    if (column.kind == Column::Kind::list) return {field.name, column.dtype, {column.length}, "the list of numbers"};
    return {field.name, column.dtype, {}, field.classes.empty() ? "the number" : "the class, from 0"};
  }

  int64_t row_of(int64_t index) const { return uses_part_ ? selected_[static_cast<size_t>(index)] : index; }

  // Runs `copy`, and prefixes its data errors with the place of the cell.
  template <class Copy>
  auto at_place(const RowIndex::Row& row, size_t column, Copy&& copy) const {
    try {
      return copy();
    } catch (const tenon::DataError& error) {
      throw tenon::DataError(index_.place(row, index_.chosen().columns()[column].name) + ": " + error.what());
    }
  }

  void write_numbers(const RowGroup& rows, const RowIndex::Row& row, size_t i, const tenon::Sink& sink) const {
    const ChosenField& field = fields_[i];
    const size_t column = field.columns.front();
    const bool is_list = index_.chosen().columns()[column].kind == Column::Kind::list;
    const int64_t count = is_list ? rows.list_length(column, row.in_group) : 1;
    void* const slot = is_list ? sink.raw_slot(i, {count}) : sink.raw_slot(i);
    at_place(row, column, [&] { rows.copy_numbers(column, row.in_group, slot); });
    if (field.classes.empty()) return;
    const auto* numbers = static_cast<const int64_t*>(slot);
    const auto classes = static_cast<int64_t>(field.classes.size());
    for (int64_t k = 0; k < count; ++k) {
      if (numbers[k] < 0 || numbers[k] >= classes) refuse_class(numbers[k], row, field.name, classes);
    }
  }

  void write_marks(const RowGroup& rows, const RowIndex::Row& row, size_t i, const tenon::Sink& sink) const {
    const ChosenField& field = fields_[i];
    const size_t column = field.columns.front();
    std::vector<int64_t> numbers(static_cast<size_t>(rows.list_length(column, row.in_group)));
    if (has_texts(field)) {
      for (size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = number_of(rows.list_text(column, row.in_group, static_cast<int64_t>(k)), row, i);
    } else {
      rows.copy_numbers(column, row.in_group, numbers.data());
    }
    float* const marks = sink.slot<float>(i);
    std::fill_n(marks, field.classes.size(), 0.0f);
    for (const int64_t number : numbers) {
      if (number < 0 || number >= std::ssize(places_[i])) refuse_class(number, row, field.name, std::ssize(places_[i]));
      marks[places_[i][static_cast<size_t>(number)]] = 1;
    }
  }

  [[noreturn]] void refuse_class(int64_t number, const RowIndex::Row& row, const std::string& field,
                                 int64_t classes) const {
    throw tenon::DataError(index_.place(row, field) + " is " + std::to_string(number) +
                           "; expected a class from 0 to " + std::to_string(classes - 1) +
                           "; -1 marks a row without a label: leave the column out of \"columns\" to use such rows");
  }

  float read_float(const RowGroup& rows, const RowIndex::Row& row, size_t column) const {
    const int32_t dtype = index_.chosen().columns()[column].dtype;
    int64_t integer = 0;
    float number = 0;
    uint8_t truth = 0;
    void* const out = dtype == TENON_INT64  ? static_cast<void*>(&integer)
                      : dtype == TENON_BOOL ? static_cast<void*>(&truth)
                                            : static_cast<void*>(&number);
    at_place(row, column, [&] { rows.copy_numbers(column, row.in_group, out); });
    if (dtype == TENON_INT64) return static_cast<float>(integer);
    return dtype == TENON_BOOL ? static_cast<float>(truth) : number;
  }

  int64_t number_of(std::string_view name, const RowIndex::Row& row, size_t i) const {
    auto found = numbers_[i].find(name);
    if (found == numbers_[i].end()) found = numbers_[i].find(formats::clean_name(name));
    if (found != numbers_[i].end()) return found->second;
    throw tenon::DataError(index_.place(row, fields_[i].name) + ": \"" + std::string(name.substr(0, 40)) +
                           "\" is none of the " + std::to_string(numbers_[i].size()) +
                           " classes that the parameter \"classes\" lists" +
                           tables::suggest_class(std::string(name), fields_[i].classes));
  }

  void write_tokens(Worker& worker, std::string_view text, size_t i, const tenon::Sink& sink) const {
    worker.tokens.clear();
    tokens_->tokenizer.append_ids(text, worker.tokens);
    const size_t count = std::min(worker.tokens.size(), tokens_->max_tokens);
    int64_t* const slot = sink.slot<int64_t>(i, {static_cast<int64_t>(count)});
    std::copy_n(worker.tokens.begin(), count, slot);
  }

  std::optional<TextTokens> tokens_;
  RowIndex index_;
  std::vector<ChosenField> fields_;
  std::vector<tables::ClassNumbers> numbers_;  // by field
  std::vector<std::vector<size_t>> places_;    // of a multi-hot field: the element for each class of the files
  bool uses_part_ = false;
  std::vector<int64_t> selected_;  // rows of the part, if one is used
  std::optional<tenon::draft::ImagePipeline> pipeline_;
  mutable RowGroupCache cache_;
  datasets::TurnedImages turned_;
};

}  // namespace
}  // namespace parquet_dataset

TENON_PLUGIN("parquet", "0.1.0", "Apache-2.0", "Rows of Parquet files, such as those of Hugging Face.",
             tenon::draft::fitted_dataset<parquet_dataset::Parquet>(
                 "parquet", "rows of Parquet files: images, numbers, classes and texts"))
