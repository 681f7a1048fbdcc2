// Rows of a table: numbers and categories that predict a number or a class.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/draft/fitted_data.hpp>
#include <tenon/draft/value_encoder.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/class_names.h"
#include "framework/formats/content_hash.h"
#include "framework/formats/strings.h"
#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/shared/split.h"
#include "plugins/datasets/shared/table_targets.h"
#include "plugins/datasets/table/feature_columns.h"

namespace table {
namespace {

using datasets::Split;
using tables::Csv;

// Returns what decides the row's split: its group, or without groups the whole row, so that identical rows are in the
// same split.
std::string split_key(const Csv& csv, size_t row, std::optional<size_t> group) {
  if (group) return std::string(csv.cell(row, *group));
  std::string text;
  for (size_t column = 0; column < csv.columns().size(); ++column) {
    text.append(csv.cell(row, column));
    text += ',';
  }
  return text;
}

// `group` names the column with groups, or is empty.
Part select_part(const std::string& path, std::shared_ptr<const Csv> csv, const Split& split,
                 const std::string& group) {
  std::optional<size_t> column;
  if (!group.empty() && split.divides()) column = csv->column(group, "group");
  std::vector<size_t> rows;
  for (size_t row = 0; row < csv->rows(); ++row) {
    if (split.has(split_key(*csv, row, column))) rows.push_back(row);
  }
  split.check_samples(rows.size(), path);
  return {path, std::move(csv), std::move(rows)};
}

Part read_part(const tenon::Params& params) {
  const std::string path = params.path("path");
  const char separator = tables::separator_named(params.text("separator"));
  return select_part(path, std::make_shared<const Csv>(path, separator), Split(params), params.text("group"));
}

// Reads the training rows, which may come from the same file.
Part read_training_part(const tenon::Params& params, const Part& part) {
  std::string split = params.text("statistics_split");
  if (split == "as_split") split = params.text("split") == "all" ? "all" : "train";
  const Split training(std::move(split), params.number("validation_fraction"));
  const std::string path = params.path("statistics_from");
  const std::string group = params.text("group");
  if (path.empty()) return select_part(part.path, part.csv, training, group);
  const char separator = tables::separator_named(params.text("separator"));
  return select_part(path, std::make_shared<const Csv>(path, separator), training, group);
}

void check_params(const tenon::Params& params) {
  const bool is_regression = params.text("task") == "regression";
  if (is_regression && !params.texts("classes").empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "the parameter \"classes\" is set, and task is \"regression\"; leave out \"classes\", or set "
                       "task = \"classification\"");
  }
  if (!is_regression && params.boolean("standardize_target")) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "standardize_target is true, and task is \"classification\", which has no numeric targets; "
                       "leave it out, or set task = \"regression\"");
  }
  const char* const other = is_regression ? "label_separator" : "more_targets";
  if (is_regression ? !params.text(other).empty() : !params.texts(other).empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "the parameter \"" + std::string(other) + "\" is set, and task is \"" +
                                                   params.text("task") + "\"; leave it out, or set task = \"" +
                                                   (is_regression ? "classification" : "regression") + '"');
  }
  if (params.text("group") == params.text("target")) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"group\" names the column \"" + params.text("group") +
                                                   "\", which is the target; expected another column");
  }
}

// A column to predict, and the parameter that names it.
struct TargetColumn {
  std::string name;
  const char* parameter;
};

std::vector<TargetColumn> targets_of(const tenon::Params& params) {
  std::vector<TargetColumn> targets = {{params.text("target"), "target"}};
  for (std::string& name : params.texts("more_targets")) targets.push_back({std::move(name), "more_targets"});
  return targets;
}

constexpr const char* kForm = "table/1";

class Table {
 public:
  static std::vector<tenon::Param> schema() {
    const std::vector<tenon::Param> of_table = {
        tenon::required<tenon::Path>("path").doc("CSV file (RFC 4180) with a header and one row per sample"),
        tenon::param("separator", "comma").choices({"comma", "semicolon", "tab"}).doc("separator between cells"),
        tenon::required<std::string>("target").doc("column to predict"),
        tenon::required<std::string>("task")
            .choices({"regression", "classification"})
            .doc("regression: the target is a number, in the field target; classification: it is a class name, in the "
                 "field label"),
        tenon::param("with_target", true)
            .doc("whether samples include the target; false: rows for prediction, without a target"),
        tenon::param("classes", std::vector<std::string>{})
            .doc("classes in the order of their numbers; empty: all classes in the file, sorted by value if all are "
                 "numbers, else in byte order"),
        tenon::param("label_separator", "")
            .doc("separator of the classes in a cell of the target, such as |: the field label is float32 [classes], 1 "
                 "for each class of the row, else 0; empty: each row has one class"),
        tenon::param("more_targets", std::vector<std::string>{})
            .doc("for a regression, more columns to predict; the field target then has target and these, in this "
                 "order, for example the 0 and 1 of several classes"),
        tenon::param("group", "")
            .doc("column with the group of each row, such as a patient: it is not a feature, a group is never divided "
                 "between splits, and samples have its number in the field group; empty: no groups"),
    };
    const std::vector<tenon::Param> of_target = {
        tenon::param("standardize_target", false)
            .doc("whether the target of a regression is scaled the same way; losses and metrics are then in units of "
                 "its standard deviation")};
    const std::vector<tenon::Param> statistics = {
        tenon::param("statistics_from", tenon::Path())
            .doc("table that determines columns, categories, classes, means and standard deviations, if this is not a "
                 "run's validation or test data, which have those of its training data; empty: path"),
        tenon::param("statistics_split", "as_split")
            .choices({"as_split", "all", "train"})
            .doc("its training rows; as_split: all rows if split is all, else the rows of the train split")};
    return datasets::join_params({of_table, FeatureColumns::schema(), of_target,
                                  Split::schema("the full text of their rows, or by group"), statistics});
  }

  // `fitted`: from fitted_data() of the training data; empty: the rows that the parameters name determine it.
  Table(const tenon::Params& params, std::string_view fitted) {
    check_params(params);
    const Part part = read_part(params);
    const Learned learned =
        fitted.empty() ? learn(read_training_part(params, part), params) : read_learned(fitted, params, part);
    fitted_ = fitted.empty() ? learned.print() : std::string(fitted);
    const FeatureColumns& columns = learned.columns;
    FeatureColumns::Features features = columns.encode(part);
    samples_ = part.rows.size();
    width_ = columns.width();
    steps_ = columns.format_steps();
    if (params.boolean("with_target")) {
      if (params.text("task") == "regression") {
        take_numbers(part, learned, params);
      } else {
        take_classes(part, learned, params);
      }
      if (!params.text("group").empty()) take_groups(part, params.text("group"));
    }
    log_summary(part, columns, features);
    features_ = std::move(features.numbers);
  }

  std::vector<tenon::Field> fields() const {
    std::vector<tenon::Field> fields = {
        {"features", TENON_FLOAT32, {static_cast<int64_t>(width_)}, "the numbers and categories of the columns"}};
    if (!targets_.empty())
      fields.push_back({"target", TENON_FLOAT32, {static_cast<int64_t>(target_width_)}, "the number to predict"});
    if (!marks_.empty())
      fields.push_back({"label", TENON_FLOAT32, {static_cast<int64_t>(classes_.size())}, "1 for each class, else 0"});
    if (!labels_.empty()) fields.push_back({"label", TENON_INT64, {}, "the class, from 0"});
    if (!groups_.empty()) fields.push_back({"group", TENON_INT64, {}, "the group, from 0"});
    return fields;
  }

  std::vector<tenon::ClassNames> class_names() const {
    if (labels_.empty()) return {};
    return {{"label", classes_}};
  }

  int64_t size() const { return static_cast<int64_t>(samples_); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const auto row = static_cast<size_t>(sample.index);
    std::copy_n(&features_[row * width_], width_, sink.slot<float>("features"));
    if (!targets_.empty()) std::copy_n(&targets_[row * target_width_], target_width_, sink.slot<float>("target"));
    if (!marks_.empty()) std::copy_n(&marks_[row * classes_.size()], classes_.size(), sink.slot<float>("label"));
    if (!labels_.empty()) sink.put("label", labels_[row]);
    if (!groups_.empty()) sink.put("group", groups_[row]);
  }

  std::string fitted_data() const { return fitted_; }

  // The features of a row, with the statistics of the training data.
  class RowEncoder final : public tenon::draft::ValueEncoder {
   public:
    explicit RowEncoder(FeatureColumns features) : features_(std::move(features)), names_(features_.names()) {}
    const std::vector<std::string>& columns() const override { return names_; }
    void encode(const std::vector<std::string_view>& cells, const tenon::draft::EncodedSlot& slot) const override {
      const FeatureColumns::Features encoded = features_.encode_row(cells);
      std::copy(encoded.numbers.begin(), encoded.numbers.end(),
                slot.open<float>({static_cast<int64_t>(features_.width())}));
      if (encoded.unknown > 0)
        tenon::log_warning("a cell has a category that no training row has, " +
                           formats::join(encoded.unknown_examples) +
                           ", which becomes zeros; expected only categories of the training rows");
    }

   private:
    FeatureColumns features_;
    std::vector<std::string> names_;
  };

  static std::unique_ptr<tenon::draft::ValueEncoder> make_encoder(const tenon::Params& params, std::string_view fitted,
                                                                  const std::string& field) {
    if (field != "features" || fitted.empty()) return nullptr;
    return std::make_unique<RowEncoder>(parse_learned(fitted, params).columns);
  }

  std::vector<tenon::Preprocessing> preprocessing() const { return {{"features", steps_}}; }

  uint64_t fingerprint() const {
    using formats::hash_elements;
    uint64_t hash = hash_elements(labels_, hash_elements(targets_, hash_elements(features_)));
    if (!marks_.empty()) hash = hash_elements(marks_, hash);
    return groups_.empty() ? hash : hash_elements(groups_, hash);
  }

 private:
  // What the training rows determine.
  struct Learned {
    FeatureColumns columns;
    std::vector<Scale> target_scales = {};  // with standardize_target
    std::vector<std::string> classes = {};  // of a classification
    std::string classes_from = {};          // completes a message: what has the classes

    std::string print() const {
      TextWriter writer(kForm);
      columns.write(writer);
      writer.add(target_scales.size());
      for (const Scale& scale : target_scales) {
        writer.add(scale.mean);
        writer.add(scale.deviation);
      }
      writer.add_all(classes);
      return writer.text();
    }
  };

  // What the training data derived, see read_learned().
  static Learned parse_learned(std::string_view fitted, const tenon::Params& params) {
    TextReader reader(fitted, kForm);
    Learned learned{FeatureColumns(reader, params)};
    learned.target_scales.resize(reader.number());
    for (Scale& scale : learned.target_scales) {
      scale.mean = reader.floating();
      scale.deviation = reader.floating();
    }
    learned.classes.resize(reader.number());
    for (std::string& name : learned.classes) name = reader.text();
    reader.finish();
    return learned;
  }

  static Learned learn(const Part& training, const tenon::Params& params) {
    const std::string target = params.text("target");
    const size_t column = training.csv->column(target, "target");
    Learned learned{FeatureColumns(training, params)};
    if (params.boolean("standardize_target")) {
      for (const auto& [name, parameter] : targets_of(params)) {
        const size_t scaled = training.csv->column(name, parameter);
        std::vector<double> numbers;
        for (const size_t row : training.rows) numbers.push_back(training.csv->number(row, scaled));
        learned.target_scales.push_back(measure_scale(numbers));
      }
    }
    if (params.text("task") == "regression") return learned;
    learned.classes = params.texts("classes");
    learned.classes_from = "the parameter \"classes\" lists";
    if (!learned.classes.empty()) return learned;
    const std::string separator = params.text("label_separator");
    std::vector<std::string> names;  // by row
    if (!separator.empty()) {
      learned.classes = tables::list_marked(*training.csv, column, separator);
    } else {
      // A missing value is not a class. It is refused if its row is a sample.
      names = tables::read_names(*training.csv, column, /*warns=*/false);
      std::copy_if(names.begin(), names.end(), std::back_inserter(learned.classes),
                   [](const std::string& name) { return !formats::is_missing_value(name); });
    }
    learned.classes = formats::sort_names(std::move(learned.classes));
    const std::string place = training.path + ": column \"" + target + '"';
    if (separator.empty()) tables::refuse_listed_classes(learned.classes, place);
    tables::check_names(*training.csv, column, learned.classes, names);
    tables::report_order(learned.classes, place);
    learned.classes_from = training.path + " contains; list all classes in the parameter \"classes\"";
    return learned;
  }

  // Throws tenon::Error if the parameters contradict the training data.
  static Learned read_learned(std::string_view fitted, const tenon::Params& params, const Part& part) {
    Learned learned = parse_learned(fitted, params);
    const std::vector<std::string> listed = params.texts("classes");
    learned.classes_from = listed.empty() ? "the training data contain" : "the parameter \"classes\" lists";
    if (!listed.empty() && listed != learned.classes && !params.text("label_separator").empty())
      throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"classes\" has " + formats::list_briefly(listed) +
                                                     ", and the training data have " +
                                                     formats::list_briefly(learned.classes) +
                                                     "; expected the same classes in the same order");
    if (!listed.empty()) learned.classes = listed;
    if (learned.target_scales.size() != (params.boolean("standardize_target") ? targets_of(params).size() : 0))
      throw tenon::Error(
          TENON_INVALID_ARGUMENT,
          "standardize_target or more_targets differ from those of the training data; expected the same");
    // Later commands may run where only the weights are.
    const std::string named = params.path("statistics_from");
    std::error_code ignored;
    if (!named.empty() && std::filesystem::exists(named, ignored) &&
        learn(read_training_part(params, part), params).print() != fitted)
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "statistics_from = " + named +
                             ": has other columns, categories, classes, means or standard deviations than the training "
                             "data; expected the same: remove statistics_from and statistics_split");
    return learned;
  }

  void take_numbers(const Part& part, const Learned& learned, const tenon::Params& params) {
    const std::vector<TargetColumn> targets = targets_of(params);
    target_width_ = targets.size();
    targets_.resize(part.rows.size() * target_width_);
    for (size_t i = 0; i < targets.size(); ++i) {
      const Scale scale = learned.target_scales.empty() ? Scale() : learned.target_scales[i];
      const size_t column = part.csv->column(targets[i].name, targets[i].parameter);
      for (size_t row = 0; row < part.rows.size(); ++row)
        targets_[row * target_width_ + i] = scale.apply(part.csv->number(part.rows[row], column));
    }
  }

  void take_classes(const Part& part, const Learned& learned, const tenon::Params& params) {
    const size_t column = part.csv->column(params.text("target"), "target");
    if (const std::string separator = params.text("label_separator"); !separator.empty())
      return take_marks(part,
                        tables::mark_classes(*part.csv, column, separator, learned.classes, learned.classes_from));
    tables::NumberedClasses numbered = tables::number_classes(*part.csv, column, learned.classes, learned.classes_from);
    for (const size_t row : part.rows) labels_.push_back(numbered.numbers[row]);
    classes_ = std::move(numbered.names);
  }

  void take_marks(const Part& part, const tables::MarkedClasses& marked) {
    classes_ = marked.names;
    for (const size_t row : part.rows) {
      const auto begin = marked.marks.begin() + static_cast<std::ptrdiff_t>(row * classes_.size());
      marks_.insert(marks_.end(), begin, begin + static_cast<std::ptrdiff_t>(classes_.size()));
    }
    tenon::log_info(part.path + ": the field label has " + std::to_string(classes_.size()) +
                    " classes in this order: " + formats::list_briefly(classes_));
  }

  // Groups are numbered in the order of their names, so that the order of the rows changes no number.
  void take_groups(const Part& part, const std::string& name) {
    const size_t column = part.csv->column(name, "group");
    const std::vector<std::string> all = tables::read_names(*part.csv, column);
    std::vector<std::string> names;
    for (const size_t row : part.rows) {
      if (all[row].empty()) {
        throw tenon::DataError(part.csv->place(row, column) + " is empty; expected the name of a group");
      }
      names.push_back(all[row]);
    }
    names = formats::sort_names(std::move(names));
    std::unordered_map<std::string_view, int64_t> numbers;
    for (const std::string& group : names) numbers.emplace(group, static_cast<int64_t>(numbers.size()));
    for (const size_t row : part.rows) groups_.push_back(numbers.at(all[row]));
  }

  static void log_summary(const Part& part, const FeatureColumns& columns, const FeatureColumns::Features& features) {
    std::string line = part.path + ": " + std::to_string(part.rows.size()) + " samples, " + columns.describe();
    if (features.filled > 0) line += "; " + std::to_string(features.filled) + " missing numbers replaced by means";
    tenon::log_info(line);
    if (features.unknown == 0) return;
    tenon::log_warning(part.path + ": " + std::to_string(features.unknown) +
                       (features.unknown == 1 ? " cell has a category" : " cells have categories") +
                       " that no training row has, such as " + formats::join(features.unknown_examples) +
                       ", which become zeros; expected only categories of the training rows");
  }

  std::string fitted_;
  std::string steps_;  // of the features, see tenon/preprocessing.h
  size_t samples_ = 0;
  size_t width_ = 0;
  std::vector<float> features_;  // [samples, width]
  size_t target_width_ = 0;
  std::vector<float> targets_;   // [samples, target_width]; none in a classification
  std::vector<float> marks_;     // [samples, classes] with label_separator, in place of labels_
  std::vector<int64_t> labels_;  // by sample; none in a regression
  std::vector<std::string> classes_;
  std::vector<int64_t> groups_;  // by sample; none without the parameter group
};

}  // namespace
}  // namespace table

TENON_PLUGIN("table", "0.1.0", "Apache-2.0", "Rows of a table as features for prediction.",
             tenon::draft::with_value_encoder<table::Table>(tenon::draft::fitted_dataset<table::Table>(
                 "table", "rows of a CSV file: numbers and categories, with a number or a class as the target")))
