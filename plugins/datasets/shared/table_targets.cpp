#include "plugins/datasets/shared/table_targets.h"

#include <algorithm>
#include <utility>

namespace tables {
namespace {

constexpr const char* kTargets = "targets";

void check_names(const std::vector<std::string>& labels, bool has_targets, std::vector<std::string> taken) {
  if (has_targets) taken.push_back(kTargets);
  for (const std::string& name : labels) {
    if (std::find(taken.begin(), taken.end(), name) != taken.end()) {
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "parameter \"labels\" names the column \"" + name +
                             "\"; another field has that name; rename the column, or list each column once");
    }
    taken.push_back(name);
  }
}

// Without this list, each file would have another order.
[[noreturn]] void require_classes(const Csv& csv, const std::vector<std::string>& labels,
                                  const std::string& separator) {
  std::string found;
  if (labels.size() == 1) {
    for (const std::string& name : list_marked(csv, csv.column(labels.front(), "labels"), separator))
      found += (found.empty() ? "\"" : ", \"") + name + '"';
  }
  throw tenon::Error(TENON_INVALID_ARGUMENT,
                     "parameter \"label_separator\" is given without \"classes\"; expected one label column and its "
                     "classes in the order of the target" +
                         (found.empty() ? "" : ": classes = [" + found + "]"));
}

}  // namespace

std::vector<tenon::Param> TableTargets::schema() {
  return {
      tenon::param("labels", std::vector<std::string>{"label"})
          .doc(
              "columns with class names; each becomes a field with the name of the column and the number of the class"),
      tenon::param("classes", std::vector<std::string>{})
          .doc("classes of the only label column, in the order of their numbers; empty: classes of every label column "
               "are numbered over the whole file, by value if all are numbers, else by first appearance, so another "
               "file may number them differently"),
      tenon::param("label_separator", "")
          .doc("separator of classes in a cell of the only label column, such as |: its field is float32 [classes], 1 "
               "for each class of the row, else 0, for several classes per sample; needs classes; empty: each row has "
               "one class"),
      tenon::param(kTargets, std::vector<std::string>{})
          .doc("columns with numbers; together they become the field targets, in this order")};
}

TableTargets::TableTargets(const Csv& csv, const tenon::Params& params, const std::vector<std::string>& taken) {
  const std::vector<std::string> labels = params.texts("labels");
  const std::vector<std::string> classes = params.texts("classes");
  const std::vector<std::string> targets = params.texts(kTargets);
  target_columns_ = targets.size();
  if (labels.empty() && targets.empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "the parameters \"labels\" and \"targets\" are both empty; expected a "
                       "column in one of them");
  }
  if (labels.size() != 1 && !classes.empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "the parameter \"classes\" is given, and \"labels\" names " +
                                                   std::to_string(labels.size()) +
                                                   " columns; expected one; leave out \"classes\"");
  }
  check_names(labels, !targets.empty(), taken);
  const std::string separator = params.text("label_separator");
  if (!separator.empty()) {
    if (classes.empty()) require_classes(csv, labels, separator);
    marked_column_ = labels.front();
    marked_ = mark_classes(csv, csv.column(labels.front(), "labels"), separator, classes);
  } else {
    for (const std::string& name : labels)
      labels_.push_back({name, number_classes(csv, csv.column(name, "labels"), classes)});
  }
  std::vector<size_t> columns;
  for (const std::string& name : targets) columns.push_back(csv.column(name, kTargets));
  for (size_t row = 0; row < csv.rows(); ++row) {
    for (const size_t column : columns) targets_.push_back(csv.number(row, column));
  }
}

std::vector<tenon::Field> TableTargets::fields() const {
  std::vector<tenon::Field> fields;
  for (const Labels& labels : labels_) fields.push_back({labels.column, TENON_INT64, {}, "the class, from 0"});
  if (!marked_column_.empty()) {
    fields.push_back(
        {marked_column_, TENON_FLOAT32, {static_cast<int64_t>(marked_.names.size())}, "1 for each class, else 0"});
  }
  if (target_columns_ > 0) {
    fields.push_back({kTargets, TENON_FLOAT32, {static_cast<int64_t>(target_columns_)}, "the numbers of the columns"});
  }
  return fields;
}

std::vector<tenon::ClassNames> TableTargets::class_names() const {
  std::vector<tenon::ClassNames> names;
  for (const Labels& labels : labels_) names.push_back({labels.column, labels.classes.names});
  return names;
}

void TableTargets::write(size_t row, const tenon::Sink& sink) const {
  for (const Labels& labels : labels_) sink.put(labels.column, labels.classes.numbers[row]);
  if (!marked_column_.empty()) {
    const size_t width = marked_.names.size();
    std::copy_n(&marked_.marks[row * width], width, sink.slot<float>(marked_column_));
  }
  if (target_columns_ == 0) return;
  std::copy_n(&targets_[row * target_columns_], target_columns_, sink.slot<float>(kTargets));
}

}  // namespace tables
