#include "plugins/datasets/table/feature_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/class_names.h"
#include "framework/formats/strings.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/table_targets.h"
#include "plugins/datasets/shared/warn.h"

namespace table {
namespace {

using formats::trim;
using tables::Csv;

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_missing(std::string_view cell) { return formats::is_missing_value(trim(cell)); }

// `3,5`, `12 kg` and `2026-05-01` also begin like numbers. They are more likely malformed numbers than names.
bool begins_as_number(std::string_view cell) {
  const std::string_view text = trim(cell);
  const size_t begin = text.find_first_not_of("+-.");
  return begin != std::string_view::npos && text[begin] >= '0' && text[begin] <= '9';
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// "_" and blanks are none.
bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

enum class Kind { digit, letter, sign };

// Removes the first character. What is not UTF-8 is a letter.
Kind take_kind(std::string_view& text) {
  const auto [point, bytes] = formats::first_character(text);
  text.remove_prefix(std::max<size_t>(bytes, 1));
  if (bytes == 0) return Kind::letter;
  if (point < 0x80) {
    const char c = static_cast<char>(point);
    return is_ascii_digit(c) ? Kind::digit : is_ascii_letter(c) ? Kind::letter : Kind::sign;
  }
  const auto within = [code = point](char32_t least, char32_t most) { return code >= least && code <= most; };
  // Arabic, Persian, Devanagari and full-width digits, and fractions.
  if (within(0x660, 0x669) || within(0x6F0, 0x6F9) || within(0x966, 0x96F) || within(0xFF10, 0xFF19) ||
      within(0xBC, 0xBE) || within(0x2150, 0x215F))
    return Kind::digit;
  // Signs of Latin-1 and Arabic, punctuation, currencies, arrows, mathematics, and full-width signs.
  const bool is_sign = within(0xA0, 0xBF) || point == 0xD7 || point == 0xF7 || within(0x66A, 0x66C) ||
                       within(0x2000, 0x20CF) || within(0x2190, 0x22FF) || within(0xFF01, 0xFF20) ||
                       within(0xFFE0, 0xFFE6);
  return is_sign ? Kind::sign : Kind::letter;
}

// Digits and signs without letters.
bool is_number_with_signs(std::string_view text) {
  bool has_digit = false;
  while (!text.empty()) {
    const Kind kind = take_kind(text);
    if (kind == Kind::letter) return false;
    has_digit |= kind == Kind::digit;
  }
  return has_digit;
}

// A number with signs of currency, comparison or accounting or in other digits, such as US$1,200, (12), #10 or ~5k. A
// name such as "#1 hit" and an interval such as "(0, 10]", as pandas.cut names it, are none.
bool is_written_number(std::string_view cell) {
  constexpr std::array<std::string_view, 10> kSigns = {"$", "€", "£", "¥", "₹", "₽", "₩", "<", ">", "~"};
  const std::string_view text = trim(cell);
  if (is_number_with_signs(text)) return text.find(", ") == std::string_view::npos || text.find_first_of("([") != 0;
  for (const std::string_view sign : kSigns) {
    const size_t at = text.find(sign);
    if (at > 3) continue;  // "US$"
    const std::string_view rest = trim(text.substr(at + sign.size()));
    if (!rest.empty() && is_ascii_digit(rest.front()) && is_number_with_signs(rest.substr(0, rest.size() - 1)))
      return true;
  }
  return false;
}

bool is_infinite(std::string_view cell) {
  const std::string_view text = trim(cell);
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isinf(number);
}

// Returns no value if the cell is missing.
// `place()`: of the cell, for messages.
template <class Place>
std::optional<double> read_number(std::string_view cell, const Place& place) {
  if (is_missing(cell)) return std::nullopt;
  if (const std::optional<double> number = tables::parse_number(trim(cell))) return number;
  throw tenon::DataError(place() + ": \"" + std::string(cell) +
                         "\" is not a finite 32-bit number; fix the cell, or list the column in the parameter "
                         "\"categorical\" or \"ignore\"");
}

// Returns whether the column has values, and no value is a number or a malformed number.
bool holds_names(const Part& part, size_t column) {
  bool has_value = false;
  for (const size_t row : part.rows) {
    const std::string_view cell = part.csv->cell(row, column);
    if (begins_as_number(cell) || is_written_number(cell)) return false;
    has_value |= !is_missing(cell) && !is_infinite(cell);
  }
  return has_value;
}

// Prices such as "EUR 10", and identifiers such as "A-103": nearly all cells have digits, and most differ.
bool may_be_numbers(const std::vector<std::string>& names, size_t categories) {
  const auto has_digit = [](std::string_view name) {
    while (!name.empty())
      if (take_kind(name) == Kind::digit) return true;
    return false;
  };
  const auto with_digit = static_cast<size_t>(std::count_if(names.begin(), names.end(), has_digit));
  return categories >= 20 && categories * 2 > names.size() && with_digit * 10 >= names.size() * 9;
}

std::string quote(const std::vector<std::string>& names) { return names.empty() ? "none" : formats::quote_all(names); }

[[noreturn]] void refuse_column(const char* parameter, const std::string& column, const char* why) {
  throw tenon::Error(TENON_INVALID_ARGUMENT,
                     std::string("parameter \"") + parameter + "\" names the column \"" + column + "\"" + why);
}

// The name that pandas gives a column without one: its index, or what follows separators at the ends of lines.
bool is_unnamed(std::string_view name) { return name.starts_with("Unnamed: "); }

void warn_about_unnamed(const std::string& path, const std::string& name) {
  const bool is_index = name.starts_with("Unnamed: 0");
  datasets::warn(path + ": the column \"" + name + "\" " +
                 (is_index ? "is an index that pandas wrote and read again; it is not a feature; write the table with "
                             "to_csv(..., index=False)"
                           : "had no name when pandas read it, as after a separator at the end of each line; it is not "
                             "a feature; remove it") +
                 ", or list the column in the parameter \"features\"");
}

// Columns of a parameter. Those of the table are cleaned, too.
std::vector<std::string> clean(std::vector<std::string> names) {
  for (std::string& name : names) name = formats::clean_name(name);
  return names;
}

std::vector<std::string> choose_columns(const Part& part, const tenon::Params& params) {
  const Csv& csv = *part.csv;
  std::vector<std::string> targets = params.texts("more_targets");
  targets.push_back(params.text("target"));
  targets = clean(std::move(targets));
  const std::string group = formats::clean_name(params.text("group"));
  if (!group.empty()) csv.column(group, "group");
  const std::vector<std::string> ignored = clean(params.texts("ignore"));
  for (const std::string& name : ignored) csv.column(name, "ignore");
  const std::vector<std::string> features = clean(params.texts("features"));
  std::vector<std::string> chosen;
  for (const std::string& name : features) {
    csv.column(name, "features");
    if (contains(targets, name)) refuse_column("features", name, ", which is the target; expected other columns");
    if (name == group) refuse_column("features", name, ", and so does \"group\"; expected it in one of them");
    if (contains(ignored, name))
      refuse_column("features", name, ", and so does \"ignore\"; expected it in one of them");
    if (contains(chosen, name)) refuse_column("features", name, " twice; expected each column once");
    chosen.push_back(name);
  }
  if (!chosen.empty()) return chosen;
  for (const std::string& name : csv.columns()) {
    if (contains(targets, name) || name == group || contains(ignored, name)) continue;
    if (is_unnamed(name)) {
      warn_about_unnamed(part.path, name);
    } else {
      chosen.push_back(name);
    }
  }
  if (chosen.empty()) {
    throw tenon::DataError(
        part.path +
        ":1: no column is left besides the target, the group and the columns of the parameter \"ignore\"; "
        "expected one or more features");
  }
  return chosen;
}

}  // namespace

Scale measure_scale(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double variance = squares / count;
  const double epsilon = std::numeric_limits<double>::epsilon();
  const double rounding = count * epsilon * variance + std::pow(count * mean * epsilon, 2);
  return {mean, variance <= rounding ? 1 : std::sqrt(variance)};
}

std::vector<tenon::Param> FeatureColumns::schema() {
  return {
      tenon::param("features", std::vector<std::string>{})
          .doc("columns that the model receives, in this order; empty: all except the target, the group and the "
               "columns of ignore"),
      tenon::param("ignore", std::vector<std::string>{}).doc("columns that are neither features nor the target"),
      tenon::param("categorical", std::vector<std::string>{})
          .doc("columns with category names that look like numbers; a column is also categorical if none of its cells "
               "begins like a number. Each category becomes a feature that is 0 or 1"),
      tenon::param("max_categories", 100)
          .range("[1, 1e9]")
          .doc(
              "maximum number of categories per column; a column with more, such as a name for each row, ends the run"),
      tenon::param("missing", "error")
          .choices({"error", "mean"})
          .doc("how to handle a number cell that is empty, ?, NA or NaN: report an error, or use the mean of the "
               "training rows"),
      tenon::param("standardize", true)
          .doc("whether numbers are scaled to mean 0 and standard deviation 1 over the training rows")};
}

FeatureColumns::FeatureColumns(const Part& training, const tenon::Params& params)
    : learned_from_(training.path),
      fills_missing_(params.text("missing") == "mean"),
      standardizes_(params.boolean("standardize")),
      max_categories_(static_cast<size_t>(params.integer("max_categories"))) {
  const std::vector<std::string> names = choose_columns(training, params);
  const std::vector<std::string> categorical = clean(params.texts("categorical"));
  for (const std::string& name : categorical) {
    training.csv->column(name, "categorical");
    if (!contains(names, name))
      refuse_column("categorical", name, ", which is not a feature; expected one of the features");
  }
  for (const std::string& name : names) {
    columns_.push_back(fit(training, name, contains(categorical, name)));
    width_ += std::max<size_t>(columns_.back().categories.size(), 1);
  }
}

FeatureColumns::FeatureColumns(TextReader& reader, const tenon::Params& params)
    : learned_from_("the training data"),
      fills_missing_(params.text("missing") == "mean"),
      standardizes_(reader.number() == 1),
      max_categories_(static_cast<size_t>(params.integer("max_categories"))) {
  if (standardizes_ != params.boolean("standardize"))
    throw tenon::Error(TENON_INVALID_ARGUMENT, std::string("standardize is ") + (standardizes_ ? "false" : "true") +
                                                   ", and " + (standardizes_ ? "true" : "false") +
                                                   " for the training data; expected the same");
  columns_.resize(reader.number());
  for (Column& column : columns_) {
    column.name = reader.text();
    column.categories.resize(reader.number());
    for (std::string& category : column.categories) category = reader.text();
    column.scale.mean = reader.floating();
    column.scale.deviation = reader.floating();
    column.fill = reader.floating();
    width_ += std::max<size_t>(column.categories.size(), 1);
  }
  refuse_other_columns(params);
}

// The parameters may name the columns that the training data have.
void FeatureColumns::refuse_other_columns(const tenon::Params& params) const {
  std::vector<std::string> names, categorical;
  for (const Column& column : columns_) {
    names.push_back(column.name);
    if (!column.categories.empty()) categorical.push_back(column.name);
  }
  const auto refuse = [](const char* parameter, const std::string& found, const std::string& of_training) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, std::string("parameter \"") + parameter + "\" names " + found +
                                                   ", and the training data have " + of_training +
                                                   "; expected the same as for the training data");
  };
  const std::vector<std::string> features = params.texts("features");
  if (!features.empty() && features != names) refuse("features", quote(features), quote(names));
  for (const std::string& name : params.texts("ignore"))
    if (contains(names, name)) refuse("ignore", quote({name}), "it as a feature");
  for (const std::string& name : params.texts("categorical"))
    if (!contains(categorical, name)) refuse("categorical", quote({name}), quote(categorical));
}

void FeatureColumns::write(TextWriter& writer) const {
  writer.add(size_t{standardizes_});
  writer.add(columns_.size());
  for (const Column& column : columns_) {
    writer.add(column.name);
    writer.add_all(column.categories);
    writer.add(column.scale.mean);
    writer.add(column.scale.deviation);
    writer.add(column.fill);
  }
}

std::string FeatureColumns::format_steps() const {
  using Json = nlohmann::ordered_json;
  Json columns = Json::array();
  for (const Column& column : columns_)
    columns.push_back(column.categories.empty() ? Json{{"name", column.name},
                                                       {"mean", standardizes_ ? column.scale.mean : 0},
                                                       {"std", standardizes_ ? column.scale.deviation : 1}}
                                                : Json{{"name", column.name}, {"categories", column.categories}});
  return Json{Json{{"name", "columns"}, {"columns", columns}}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

FeatureColumns::Column FeatureColumns::fit(const Part& training, const std::string& name, bool is_categorical) const {
  const Csv& csv = *training.csv;
  const size_t column = csv.column(name, "features");
  const std::string place = training.path + ": column \"" + name + '"';
  Column learned = {name, {}};
  if (is_categorical || holds_names(training, column)) {
    const std::vector<std::string> all = tables::read_names(csv, column);
    std::vector<std::string> names;
    for (const size_t row : training.rows) names.push_back(all[row]);
    learned.categories = formats::sort_names(names);
    const std::string hint = is_categorical || !may_be_numbers(names, learned.categories.size())
                                 ? ""
                                 : ", such as \"" + names.front() +
                                       "\"; if they are numbers, write them without other " +
                                       "signs and letters; if they are identifiers, list the column in \"ignore\"";
    const std::string found =
        place + " has " + std::to_string(learned.categories.size()) + " categories in the training rows";
    if (learned.categories.size() > max_categories_) {
      throw tenon::DataError(found + hint + "; expected at most " + std::to_string(max_categories_) +
                             "; list it in the parameter \"ignore\", or raise max_categories");
    }
    if (!hint.empty()) datasets::warn(found + hint + ", and if they are categories, in \"categorical\"");
    return learned;
  }
  std::vector<double> numbers;
  for (const size_t row : training.rows) {
    const std::optional<double> number = read_number(csv.cell(row, column), [&] { return csv.place(row, column); });
    if (number) numbers.push_back(*number);
  }
  if (numbers.empty()) {
    throw tenon::DataError(place +
                           " has no value in the training rows; expected numbers; list it in the parameter \"ignore\"");
  }
  const Scale scale = measure_scale(numbers);
  if (standardizes_) learned.scale = scale;
  learned.fill = scale.mean;
  return learned;
}

FeatureColumns::Features FeatureColumns::encode(const Part& part) const {
  const std::vector<size_t> places = find_columns(part);
  Features features;
  features.numbers.reserve(part.rows.size() * width_);
  for (const size_t row : part.rows)
    for (size_t i = 0; i < columns_.size(); ++i)
      append(
          columns_[i], part.csv->cell(row, places[i]), [&] { return part.csv->place(row, places[i]); }, features);
  return features;
}

FeatureColumns::Features FeatureColumns::encode_row(const std::vector<std::string_view>& cells) const {
  if (cells.size() != columns_.size())
    throw tenon::Error(TENON_INVALID_ARGUMENT, "the row has " + std::to_string(cells.size()) + " cells; expected " +
                                                   std::to_string(columns_.size()) + ", one for each column");
  Features features;
  features.numbers.reserve(width_);
  for (size_t i = 0; i < columns_.size(); ++i)
    append(
        columns_[i], cells[i], [&] { return "column \"" + columns_[i].name + '"'; }, features);
  return features;
}

std::vector<std::string> FeatureColumns::names() const {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name);
  return names;
}

std::vector<size_t> FeatureColumns::find_columns(const Part& part) const {
  std::vector<size_t> places;
  for (const Column& column : columns_) {
    const std::optional<size_t> found = part.csv->find_column(column.name);
    if (!found) {
      throw tenon::DataError(part.path + ":1: there is no column \"" + column.name + "\", which is a feature of " +
                             learned_from_ + "; expected all of its features");
    }
    places.push_back(*found);
  }
  return places;
}

template <class Place>
void FeatureColumns::append(const Column& column, std::string_view cell, const Place& place, Features& features) const {
  if (column.categories.empty()) return append_number(column, cell, place, features);
  const std::string name = formats::clean_name(cell);
  for (const std::string& category : column.categories) features.numbers.push_back(category == name ? 1.0f : 0.0f);
  if (contains(column.categories, name)) return;
  constexpr size_t kMostExamples = 3;
  if (features.unknown++ < kMostExamples)
    features.unknown_examples.push_back(column.name + " \"" + std::string(cell) + '"');
}

template <class Place>
void FeatureColumns::append_number(const Column& column, std::string_view cell, const Place& place,
                                   Features& features) const {
  const std::optional<double> number = read_number(cell, place);
  if (!number && !fills_missing_) {
    throw tenon::DataError(place() + ": \"" + std::string(cell) +
                           "\" is a missing value; expected a number; remove the row, or set missing = \"mean\" to use "
                           "the mean of the training rows");
  }
  features.filled += !number;
  features.numbers.push_back(column.scale.apply(number.value_or(column.fill)));
}

std::string FeatureColumns::describe() const {
  std::string text = std::to_string(width_) + " features of " + std::to_string(columns_.size()) + " columns";
  bool is_first = true;
  for (const Column& column : columns_) {
    if (column.categories.empty()) continue;
    text += (is_first ? "; categorical: " : ", ") + column.name + " (" + std::to_string(column.categories.size()) + ')';
    is_first = false;
  }
  return text;
}

}  // namespace table
