#include "plugins/datasets/parquet/chosen_columns.h"

#include <algorithm>
#include <utility>

#include "framework/formats/nearest_name.h"
#include "framework/formats/strings.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/check_fields.h"
#include "plugins/datasets/shared/table_targets.h"

namespace parquet_dataset {
namespace {

using Kind = Column::Kind;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Column* find_column(const ParquetFile& file, const std::string& name) {
  for (const Column& column : file.columns())
    if (column.name == name) return &column;
  return nullptr;
}

std::string describe(const Column& column) { return '"' + column.name + "\" (" + column.type + ')'; }

[[noreturn]] void refuse_type(const ParquetFile& file, const Column& column, const char* parameter,
                              const std::string& expected) {
  throw tenon::DataError(file.path() + ": the column " + describe(column) + ", which the parameter \"" + parameter +
                         "\" names, cannot be read; expected " + expected);
}

}  // namespace

std::vector<tenon::Param> ChosenColumns::schema() {
  const std::vector<std::string> none;
  return {
      tenon::param("columns", none)
          .doc(
              "columns that become fields: images, numbers, lists of numbers; empty: all such columns but the index of "
              "pandas and the parts of folder names such as year=2024"),
      tenon::param("labels", none)
          .doc("columns with names of classes, each a field with the number of the class; columns with classes in "
               "Hugging Face's metadata need not be listed"),
      tenon::param("classes", none)
          .doc(
              "classes of the only column in labels or multi_hot, in the order of their numbers; empty: all texts of a "
              "column, by value if all are numbers, else in byte order"),
      tenon::param("multi_hot", none)
          .doc(
              "columns with lists of class numbers, or of names of classes, each a field float32 [classes]: 1 for each "
              "class of the row, else 0; the classes are those in Hugging Face's metadata, or classes"),
      tenon::param("features", none)
          .doc("columns with numbers; together they become the field features, float32, in this order"),
      tenon::param("targets", none)
          .doc("columns with numbers; together they become the field targets, float32, in this order"),
      tenon::param("text", none).doc("columns with texts, each a field with the tokens of the tokenizer"),
  };
}

ChosenColumns::ChosenColumns(const ParquetFile& file, const std::map<std::string, Feature>& features,
                             const tenon::Params& params)
    : file_(file), features_(features), index_(read_index_columns(file.pandas_metadata())) {
  const std::vector<std::string> labels = params.texts("labels");
  const std::vector<std::string> multi_hot = params.texts("multi_hot");
  std::vector<std::string> classes;
  for (const std::string& name : params.texts("classes")) classes.push_back(formats::clean_name(name));
  if (labels.size() + multi_hot.size() != 1 && !classes.empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "the parameter \"classes\" is given, and \"labels\" names " +
                                                   std::to_string(labels.size() + multi_hot.size()) +
                                                   " columns; expected one; leave out \"classes\"");
  }
  const std::vector<std::string> columns = params.texts("columns");
  for (const std::string& name : columns) add_column(name, "columns");
  if (columns.empty()) add_default_columns(params);
  for (const std::string& name : labels) add_label(name, classes);
  for (const std::string& name : multi_hot) add_marks(name, classes);
  for (const std::string& name : params.texts("text")) add_text(name);
  for (const char* parameter : {"features", "targets"}) add_stack(parameter, params.texts(parameter));
  if (fields_.empty()) {
    throw tenon::DataError(file.path() + ": no column becomes a field" + left_out_ +
                           "; list texts in the parameter \"labels\" or \"text\"");
  }
  std::vector<std::string> names;
  for (const ChosenField& field : fields_) names.push_back(field.name);
  datasets::check_fields(names, file.path(), "columns",
                         "list columns in the parameter \"columns\", or numbers together in \"features\"");
}

const Column& ChosenColumns::find(const std::string& name, const char* parameter) const {
  if (const Column* column = find_column(file_, name)) return *column;
  std::vector<std::string> known;
  std::string available;
  for (const Column& column : file_.columns()) {
    known.push_back(column.name);
    available += (available.empty() ? "" : ", ") + describe(column);
  }
  const std::string suggestion = formats::suggest_nearest(name, known);
  throw tenon::DataError(file_.path() + ": there is no column \"" + name + "\", which the parameter \"" + parameter +
                         "\" names" + (suggestion.empty() ? "; available: " + available : suggestion));
}

size_t ChosenColumns::take(const Column& column, const char* parameter) {
  for (const Column& other : columns_) {
    if (other.name != column.name) continue;
    throw tenon::Error(TENON_INVALID_ARGUMENT, std::string("parameter \"") + parameter + "\" names the column \"" +
                                                   column.name + "\", which is already used; list each column once");
  }
  columns_.push_back(column);
  return columns_.size() - 1;
}

void ChosenColumns::add_field(ChosenField field) {
  for (const ChosenField& other : fields_) {
    if (other.name != field.name) continue;
    throw tenon::Error(TENON_INVALID_ARGUMENT, "two fields would have the name \"" + field.name +
                                                   "\": a column and the list of the parameter of that name; leave the "
                                                   "column out of \"columns\"");
  }
  fields_.push_back(std::move(field));
}

void ChosenColumns::add_column(const std::string& name, const char* parameter) {
  const Column& column = find(name, parameter);
  if (column.kind == Kind::text) {
    refuse_type(file_, column, parameter,
                "an image or numbers; list it in the parameter \"labels\" if it has names of classes, or in \"text\"");
  }
  if (column.kind == Kind::texts) {
    refuse_type(file_, column, parameter,
                "images or numbers; list it in the parameter \"multi_hot\" if it has names of classes");
  }
  if (column.kind == Kind::other) {
    refuse_type(file_, column, parameter,
                "images (bytes), integers up to int64, floats, bools, or lists of them; leave it out, or convert it");
  }
  if (column.kind == Kind::list && column.length == 0) {
    refuse_type(file_, column, parameter, "lists with elements; leave it out: name the others in \"columns\"");
  }
  const auto kind = column.kind == Kind::bytes ? ChosenField::Kind::image : ChosenField::Kind::numbers;
  add_field({name, kind, {take(column, parameter)}, classes_of(column)});
}

void ChosenColumns::add_label(const std::string& name, const std::vector<std::string>& classes) {
  const Column& column = find(name, "labels");
  if (column.kind == Kind::texts) {
    refuse_type(file_, column, "labels",
                "one class in each row; list it in the parameter \"multi_hot\" for several classes");
  }
  // The values of folders are names, such as "01", unless classes gives others.
  const bool is_integer = column.dtype == TENON_INT64 && !(column.is_partition && classes.empty());
  if (column.kind != Kind::text && column.dtype != TENON_INT64) {
    refuse_type(file_, column, "labels", "names of classes, or numbers of classes from 0");
  }
  const std::vector<std::string> named = is_integer ? classes_of(column) : std::vector<std::string>();
  if (!named.empty() && !classes.empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "the parameter \"classes\" is given, and the metadata of " +
                                                   file_.path() + " name the classes of \"" + name +
                                                   "\"; leave out \"classes\"");
  }
  tables::number_names(classes);  // checks them
  const auto kind = is_integer ? ChosenField::Kind::numbers : ChosenField::Kind::classes;
  add_field({name, kind, {take(column, "labels")}, named.empty() ? classes : named});
}

void ChosenColumns::add_marks(const std::string& name, const std::vector<std::string>& classes) {
  const Column& column = find(name, "multi_hot");
  if (column.kind != Kind::texts && (column.kind != Kind::list || column.dtype != TENON_INT64))
    refuse_type(file_, column, "multi_hot", "lists of class numbers from 0, or of names of classes");
  const std::vector<std::string> named = classes_of(column);
  if (named.empty() && classes.empty() && column.kind != Kind::texts) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"multi_hot\" names the column \"" + name +
                                                   "\", and the metadata do not name its classes; expected their names "
                                                   "in the parameter \"classes\"");
  }
  add_field({name, ChosenField::Kind::marks, {take(column, "multi_hot")}, named.empty() ? classes : named});
}

void ChosenColumns::add_text(const std::string& name) {
  const Column& column = find(name, "text");
  if (column.kind != Kind::text) refuse_type(file_, column, "text", "texts");
  add_field({name, ChosenField::Kind::tokens, {take(column, "text")}});
}

void ChosenColumns::add_stack(const char* parameter, const std::vector<std::string>& names) {
  if (names.empty()) return;
  ChosenField field{parameter, ChosenField::Kind::stack};
  for (const std::string& name : names) {
    const Column& column = find(name, parameter);
    if (column.kind != Kind::number) refuse_type(file_, column, parameter, "numbers");
    field.columns.push_back(take(column, parameter));
  }
  add_field(std::move(field));
}

void ChosenColumns::add_default_columns(const tenon::Params& params) {
  std::vector<std::string> named;
  for (const char* parameter : {"labels", "multi_hot", "text", "features", "targets"})
    for (const std::string& name : params.texts(parameter)) named.push_back(name);
  std::vector<std::string> folders, lists;
  for (const Column& column : file_.columns()) {
    if (contains(named, column.name)) continue;
    if (column.is_partition) folders.push_back(column.name);
    if (!column.is_partition && column.kind == Kind::texts) lists.push_back(column.name);
    const auto feature = features_.find(column.name);
    // Sounds are bytes, too.
    const bool is_other_file =
        column.kind == Kind::bytes && feature != features_.end() && feature->second.type != "Image";
    const bool is_empty = column.kind == Kind::list && column.length == 0;
    const bool is_index = index_.contains(column.name);
    if (!is_index && !column.is_partition && column.kind != Kind::text && column.kind != Kind::texts &&
        column.kind != Kind::other && !is_other_file && !is_empty) {
      add_column(column.name, "columns");
    } else {
      left_out_ += (left_out_.empty() ? "; left out: " : ", ") + describe(column) +
                   (is_index ? ", the index of pandas: write it with to_parquet(..., index=False)" : "");
    }
  }
  const std::string advice = ", or name the columns to read in \"columns\" to leave it out without this warning";
  if (!folders.empty())
    warnings_.push_back("the values in the names of folders are not read: " + formats::quote_all(folders) +
                        "; list it in \"labels\", \"columns\", \"features\" or \"targets\" to use it" + advice);
  if (!lists.empty())
    warnings_.push_back("columns with lists of texts are not read: " + formats::quote_all(lists) +
                        "; list it in \"multi_hot\", with its \"classes\", for several classes of a row" + advice);
}

std::vector<std::string> ChosenColumns::classes_of(const Column& column) const {
  const auto feature = features_.find(column.name);
  if (feature == features_.end() || column.dtype != TENON_INT64) return {};
  return feature->second.classes;
}

std::vector<size_t> ChosenColumns::find_in(const ParquetFile& file,
                                           const std::map<std::string, Feature>& features) const {
  const auto feature_of = [](const std::map<std::string, Feature>& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? Feature() : found->second;
  };
  std::vector<size_t> places;
  for (const Column& column : columns_) {
    const Column* found = find_column(file, column.name);
    if (!found) {
      throw tenon::DataError(file.path() + ": there is no column \"" + column.name + "\", which " + file_.path() +
                             " has; expected files of one dataset; name them in the parameter \"path\"");
    }
    if (found->kind != column.kind || found->dtype != column.dtype || found->length != column.length) {
      throw tenon::DataError(file.path() + ": the column \"" + column.name + "\" has the type " + found->type +
                             "; expected " + column.type + ", as in " + file_.path() +
                             "; convert it, or name files of one dataset in the parameter \"path\"");
    }
    if (feature_of(features, column.name).classes != feature_of(features_, column.name).classes) {
      throw tenon::DataError(file.path() + ": its metadata name other classes of the column \"" + column.name +
                             "\" than those of " + file_.path() + "; expected files of one dataset");
    }
    places.push_back(static_cast<size_t>(found - file.columns().data()));
  }
  return places;
}

}  // namespace parquet_dataset
