// Rows of a table: numbers and categories that predict a number or a class.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/split.h"
#include "plugins/datasets/shared/table_targets.h"
#include "plugins/datasets/table/feature_columns.h"
#include "plugins/hash_text.h"

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
  if (params.text("group") == params.text("target")) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"group\" names the column \"" + params.text("group") +
                                                   "\", which is the target; expected another column");
  }
}

class Table final {
 public:
  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = {
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
                 "integers, else in byte order"),
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
            .doc("training table, which determines columns, categories, classes, means and standard deviations; empty: "
                 "path"),
        tenon::param("statistics_split", "as_split")
            .choices({"as_split", "all", "train"})
            .doc("its training rows; as_split: all rows if split is all, else the rows of the train split")};
    for (const std::vector<tenon::Param>& more :
         {FeatureColumns::schema(), of_target, Split::schema("the full text of their rows, or by group"), statistics}) {
      params.insert(params.end(), more.begin(), more.end());
    }
    return params;
  }

  explicit Table(const tenon::Params& params) {
    check_params(params);
    const Part part = read_part(params);
    const Part training = read_training_part(params, part);
    training.csv->column(params.text("target"), "target");
    const FeatureColumns columns(training, params);
    FeatureColumns::Features features = columns.encode(part);
    samples_ = part.rows.size();
    width_ = columns.width();
    if (params.boolean("with_target")) {
      if (params.text("task") == "regression") {
        take_numbers(part, training, params);
      } else {
        take_classes(part, training, params);
      }
      if (!params.text("group").empty()) take_groups(part, params.text("group"));
    }
    log_summary(part, columns, features);
    features_ = std::move(features.numbers);
  }

  std::vector<tenon::Field> fields() const {
    std::vector<tenon::Field> fields = {
        {"features", TENON_FLOAT32, {static_cast<int64_t>(width_)}, "the numbers and categories of the columns"}};
    if (!targets_.empty()) fields.push_back({"target", TENON_FLOAT32, {1}, "the number to predict"});
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
    if (!targets_.empty()) *sink.slot<float>("target") = targets_[row];
    if (!labels_.empty()) sink.put("label", labels_[row]);
    if (!groups_.empty()) sink.put("group", groups_[row]);
  }

  uint64_t fingerprint() const {
    const auto bytes = [](const auto& numbers) {
      return std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]);
    };
    const uint64_t hash =
        plugins::hash_text(bytes(labels_), plugins::hash_text(bytes(targets_), plugins::hash_text(bytes(features_))));
    return groups_.empty() ? hash : plugins::hash_text(bytes(groups_), hash);
  }

 private:
  void take_numbers(const Part& part, const Part& training, const tenon::Params& params) {
    const std::string target = params.text("target");
    Scale scale;
    if (params.boolean("standardize_target")) {
      const size_t column = training.csv->column(target, "target");
      std::vector<double> numbers;
      for (const size_t row : training.rows) numbers.push_back(training.csv->number(row, column));
      scale = measure_scale(numbers);
    }
    const size_t column = part.csv->column(target, "target");
    for (const size_t row : part.rows) targets_.push_back(scale.apply(part.csv->number(row, column)));
  }

  void take_classes(const Part& part, const Part& training, const tenon::Params& params) {
    const std::string target = params.text("target");
    std::vector<std::string> classes = params.texts("classes");
    std::string lister = "the parameter \"classes\" lists";
    if (classes.empty()) {
      const size_t column = training.csv->column(target, "target");
      for (size_t row = 0; row < training.csv->rows(); ++row) {
        // An empty cell is not a class. It is refused if its row is a sample.
        if (!training.csv->cell(row, column).empty()) classes.emplace_back(training.csv->cell(row, column));
      }
      classes = sort_names(std::move(classes));
      lister = training.path + " contains; list all classes in the parameter \"classes\"";
    }
    const size_t column = part.csv->column(target, "target");
    tables::NumberedClasses numbered = tables::number_classes(*part.csv, column, classes, lister);
    for (const size_t row : part.rows) labels_.push_back(numbered.numbers[row]);
    classes_ = std::move(numbered.names);
  }

  // Groups are numbered in the order of their names, so that the order of the rows changes no number.
  void take_groups(const Part& part, const std::string& name) {
    const size_t column = part.csv->column(name, "group");
    std::vector<std::string> names;
    for (const size_t row : part.rows) {
      if (part.csv->cell(row, column).empty()) {
        throw tenon::DataError(part.csv->place(row, column) + " is empty; expected the name of a group");
      }
      names.emplace_back(part.csv->cell(row, column));
    }
    names = sort_names(std::move(names));
    std::unordered_map<std::string_view, int64_t> numbers;
    for (const std::string& group : names) numbers.emplace(group, static_cast<int64_t>(numbers.size()));
    for (const size_t row : part.rows) groups_.push_back(numbers.at(part.csv->cell(row, column)));
  }

  static void log_summary(const Part& part, const FeatureColumns& columns, const FeatureColumns::Features& features) {
    std::string line = part.path + ": " + std::to_string(part.rows.size()) + " samples, " + columns.describe();
    if (features.filled > 0) line += "; " + std::to_string(features.filled) + " missing numbers replaced by means";
    if (features.unknown > 0) {
      line += "; " + std::to_string(features.unknown) + " cells with categories that no training row has";
    }
    tenon::detail::host->log(TENON_LOG_INFO, tenon::detail::borrow(line));
  }

  size_t samples_ = 0;
  size_t width_ = 0;
  std::vector<float> features_;  // [samples, width]
  std::vector<float> targets_;   // by sample; none in a classification
  std::vector<int64_t> labels_;  // by sample; none in a regression
  std::vector<std::string> classes_;
  std::vector<int64_t> groups_;  // by sample; none without the parameter group
};

}  // namespace
}  // namespace table

TENON_PLUGIN("table", "0.1.0", "Apache-2.0", "Rows of a table as features for prediction.",
             tenon::dataset<table::Table>(
                 "table", "rows of a CSV file: numbers and categories, with a number or a class as the target"))
