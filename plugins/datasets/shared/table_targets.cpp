#include "plugins/datasets/shared/table_targets.h"

#include <algorithm>
#include <set>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/class_names.h"
#include "framework/formats/strings.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/warn.h"

namespace tables {
namespace {

std::string describe(const Csv& csv, size_t column) { return csv.path() + ": column \"" + csv.columns()[column] + '"'; }

std::vector<std::string> distinct(const std::vector<std::string>& names) {
  std::set<std::string_view> known;
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (!formats::is_missing_value(name) && known.insert(name).second) found.push_back(name);
  return found;
}

[[noreturn]] void refuse_missing(const Csv& csv, size_t row, size_t column, const std::string& name) {
  throw tenon::DataError(csv.place(row, column) + (name.empty() ? " is empty" : " is a missing value, " + name) +
                         "; expected the name of a class: remove the row" +
                         (name.empty() ? "" : ", or list all names in the parameter \"classes\" if this is one"));
}

// `name` is from the cell.
int64_t number_of(const std::string& name, const Csv& csv, size_t row, size_t column, const ClassNumbers& numbers,
                  const std::vector<std::string>& classes, const std::string& lister) {
  if (const size_t at = formats::find_invalid_utf8(name); at != name.size()) {
    throw tenon::DataError(csv.place(row, column) + " is not UTF-8 at byte " + std::to_string(at) +
                           "; convert the file to UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8");
  }
  const auto found = numbers.find(name);
  if (found != numbers.end()) return found->second;
  if (formats::is_missing_value(name)) refuse_missing(csv, row, column, name);
  throw tenon::DataError(csv.place(row, column) + ": \"" + name + "\" is none of the " +
                         std::to_string(classes.size()) + " classes that " + lister + suggest_class(name, classes));
}

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
  if (labels.size() == 1) found = formats::quote_all(list_marked(csv, csv.column(labels.front(), "labels"), separator));
  throw tenon::Error(TENON_INVALID_ARGUMENT,
                     "parameter \"label_separator\" is given without \"classes\"; expected one label column and its "
                     "classes in the order of the target" +
                         (found.empty() ? "" : ": classes = [" + found + "]"));
}

}  // namespace

ClassNumbers number_names(const std::vector<std::string>& classes) {
  ClassNumbers numbers;
  for (const std::string& name : classes) {
    if (!numbers.emplace(formats::clean_name(name), static_cast<int64_t>(numbers.size())).second) {
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "parameter \"classes\" has \"" + name + "\" twice; expected each class once");
    }
  }
  return numbers;
}

std::vector<std::string> read_names(const Csv& csv, size_t column, bool warns) {
  formats::NameCleaner cleaner;
  std::vector<std::string> names;
  for (size_t row = 0; row < csv.rows(); ++row) names.push_back(cleaner.clean(csv.cell(row, column)));
  if (const std::string changes = cleaner.describe_changes(); warns && !changes.empty())
    datasets::warn(describe(csv, column) + ": " + changes);
  return names;
}

void refuse_listed_classes(const std::vector<std::string>& names, const std::string& place, bool has_separator) {
  const auto listed = formats::find_listed_classes(names);
  if (!listed) return;
  throw tenon::DataError(place + ": \"" + listed->name + "\" lists several classes; expected one class in each row; " +
                         (has_separator ? "set label_separator = \"" + std::string(1, listed->separator) +
                                              "\" for a target with 1 for each class of a row, or "
                                        : "store each class as a column of 0 and 1, or ") +
                         "list all names in the parameter \"classes\" if this is the name of one class");
}

void check_names(const std::vector<std::string>& names, const std::string& place, const std::string& advice,
                 const std::function<std::string(const std::string& name)>& place_of) {
  const auto quote = [&](const std::string& name) {
    return '"' + name + '"' + (place_of ? " (" + place_of(name) + ')' : "");
  };
  if (const auto equal = formats::find_equal_names(names)) {
    throw tenon::DataError(
        place + ": " + quote(equal->first) + " and " + quote(equal->second) +
        " are the same value, and would be two classes; expected one text for each class: " + advice);
  }
  if (const auto other_case = formats::find_names_of_other_case(names))
    datasets::warn(place + ": the classes " + quote(other_case->first) + " and " + quote(other_case->second) +
                   " differ only in case; expected one name if they are one class: " + advice);
  for (const char* name : {"None", "null", "NULL"})
    if (std::find(names.begin(), names.end(), name) != names.end())
      datasets::warn(place + ": " + quote(name) + " is a class; if it is a missing value, remove its samples");
}

void warn_of_many_classes(size_t classes, size_t rows, const std::string& place) {
  constexpr size_t kLeast = 20;
  if (classes < kLeast || 2 * classes <= rows) return;
  datasets::warn(place + ": has " + std::to_string(classes) + " classes in " + std::to_string(rows) +
                 " rows; expected several rows of each class: choose another column, or if it holds numbers to "
                 "predict, list it in the parameter \"targets\" (dataset table: set task = \"regression\")");
}

void check_names(const Csv& csv, size_t column, const std::vector<std::string>& names,
                 const std::vector<std::string>& all) {
  check_names(
      names, describe(csv, column),
      "write it the same way everywhere, or list all names in the parameter \"classes\" if they are two classes",
      all.empty() ? std::function<std::string(const std::string&)>() : [&](const std::string& name) {
        const auto row = static_cast<size_t>(std::find(all.begin(), all.end(), name) - all.begin());
        return "line " + std::to_string(csv.line(row));
      });
  if (!all.empty()) warn_of_many_classes(names.size(), all.size(), describe(csv, column));
}

void report_order(const std::vector<std::string>& classes, const std::string& place) {
  const auto as_text = formats::sort_numbers_as_text(classes);
  if (!as_text) return;
  datasets::inform(place + ": its " + std::to_string(classes.size()) +
                   " classes are numbers, in the order of their values: " + formats::list_briefly(classes) +
                   "; the order as text, as of torchvision's ImageFolder, is " + formats::list_briefly(*as_text));
}

std::string suggest_class(const std::string& name, const std::vector<std::string>& classes) {
  const auto number = parse_number(name);
  for (const std::string& known : classes)
    if (number && parse_number(known) == number) return "; \"" + known + "\" has the same value: write it the same way";
  return "";
}

NumberedClasses number_classes(const Csv& csv, size_t column, const std::vector<std::string>& classes,
                               const std::string& lister) {
  const std::vector<std::string> names = read_names(csv, column);
  NumberedClasses numbered;
  for (const std::string& name : classes) numbered.names.push_back(formats::clean_name(name));
  const ClassNumbers given = number_names(classes);
  if (classes.empty()) {
    numbered.names = distinct(names);
    if (formats::sort_numbers(numbered.names)) report_order(numbered.names, describe(csv, column));
    refuse_listed_classes(numbered.names, describe(csv, column));
    check_names(csv, column, numbered.names, names);
  }
  const ClassNumbers numbers = classes.empty() ? number_names(numbered.names) : given;
  for (size_t row = 0; row < csv.rows(); ++row) {
    if (names[row].empty()) refuse_missing(csv, row, column, "");
    numbered.numbers.push_back(number_of(names[row], csv, row, column, numbers, numbered.names, lister));
  }
  return numbered;
}

std::vector<std::string> list_marked(const Csv& csv, size_t column, const std::string& separator) {
  std::vector<std::string> all;
  for (size_t row = 0; row < csv.rows(); ++row)
    for (std::string& part : formats::split_classes(csv.cell(row, column), separator)) {
      if (formats::is_missing_value(part)) refuse_missing(csv, row, column, part);
      all.push_back(std::move(part));
    }
  return distinct(all);
}

MarkedClasses mark_classes(const Csv& csv, size_t column, const std::string& separator,
                           const std::vector<std::string>& classes, const std::string& lister) {
  MarkedClasses marked;
  for (const std::string& name : classes) marked.names.push_back(formats::clean_name(name));
  const ClassNumbers numbers = number_names(marked.names);
  const size_t width = marked.names.size();
  marked.marks.resize(csv.rows() * width);
  for (size_t row = 0; row < csv.rows(); ++row) {
    for (const std::string& name : formats::split_classes(csv.cell(row, column), separator)) {
      const int64_t number = number_of(name, csv, row, column, numbers, marked.names, lister);
      marked.marks[row * width + static_cast<size_t>(number)] = 1;
    }
  }
  return marked;
}

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
