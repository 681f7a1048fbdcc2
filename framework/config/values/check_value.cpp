#include "framework/config/values/check_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "framework/config/values/text_values.h"
#include "framework/config/values/transform_presets.h"
#include "framework/formats/nearest_name.h"
#include "framework/formats/strings.h"
#include "framework/support/text/format.h"

namespace tenon::config {
namespace {

template <class T>
std::optional<T> read_scalar(const Node& node) {
  const T* held = std::get_if<T>(&node.value);
  return held != nullptr ? std::optional<T>(*held) : std::nullopt;
}

template <>
std::optional<double> read_scalar<double>(const Node& node) {
  if (const auto* integer = std::get_if<int64_t>(&node.value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&node.value)) return *number;
  return std::nullopt;
}

template <class T>
std::optional<Value> read_list(const Node& node) {
  const Node::Array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<T> list;
  for (const Node& element : *array) {
    const auto scalar = read_scalar<T>(element);
    if (!scalar) return std::nullopt;
    list.push_back(*scalar);
  }
  return list;
}

std::optional<Value> read_as(const Node& node, ParamType type) {
  switch (type) {
    case ParamType::boolean: return read_scalar<bool>(node);
    case ParamType::integer: return read_scalar<int64_t>(node);
    case ParamType::floating: return read_scalar<double>(node);
    case ParamType::string:
    case ParamType::path: return read_scalar<std::string>(node);
    case ParamType::integers: return read_list<int64_t>(node);
    case ParamType::floats: return read_list<double>(node);
    case ParamType::strings: return read_list<std::string>(node);
  }
  return std::nullopt;
}

// Checks whether the schema allows a number or string.
struct Allowed {
  const ParamSchema& schema;

  bool operator()(bool) const { return true; }
  bool operator()(int64_t number) const { return (*this)(static_cast<double>(number)); }
  bool operator()(double number) const { return !schema.range || schema.range->contains(number); }
  bool operator()(const std::string& text) const {
    const auto& choices = schema.choices;
    return choices.empty() || std::ranges::find(choices, text) != choices.end();
  }
  template <class T>
  bool operator()(const std::vector<T>& list) const {
    return std::ranges::all_of(list, *this);
  }
};

// Examples: " of at least 1", " above 0", " in [0, 1)". Empty if any value is allowed.
std::string describe_range(const ParamSchema& schema) {
  if (!schema.range) return "";
  const Interval& range = *schema.range;
  const bool has_lower = std::isfinite(range.lower);
  const bool has_upper = std::isfinite(range.upper);
  if (has_lower && has_upper) return " in " + schema.range_text;
  if (has_lower) return (range.lower_closed ? " of at least " : " above ") + fmt::format("{}", range.lower);
  if (has_upper) return (range.upper_closed ? " of at most " : " below ") + fmt::format("{}", range.upper);
  return " that is finite";
}

std::string describe_choices(const std::vector<std::string>& choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += to_toml(choices[i]);
  }
  return text;
}

bool is_list(ParamType type) {
  return type == ParamType::integers || type == ParamType::floats || type == ParamType::strings;
}

// Returns the list of the preset that the node names.
std::optional<Value> expand_preset(const Node& node, const ParamSchema& schema) {
  const std::string* name = node.as_string();
  if (name == nullptr) return std::nullopt;
  for (const TransformPreset& preset : presets_of(schema))
    if (preset.name == *name) return preset.transforms;
  return std::nullopt;
}

// Names that PyTorch and other trainers have for values of run files.
const std::vector<std::pair<std::string, std::string>>& other_words() {
  static const std::vector<std::pair<std::string, std::string>> words = {
      {"16", "fp16"},       {"16-mixed", "fp16"},   {"32", "fp32"},        {"bf16-mixed", "bf16"}, {"bfloat16", "bf16"},
      {"float16", "fp16"},  {"float32", "fp32"},    {"half", "fp16"},      {"high", "tf32"},       {"highest", "fp32"},
      {"adaptive", "auto"}, {"eval", "validation"}, {"dev", "validation"}, {"training", "train"}};
  return words;
}

bool has(const std::vector<std::string>& choices, const std::string& word) {
  return std::ranges::find(choices, word) != choices.end();
}

// Returns the choice that a word may mean.
std::optional<std::string> find_choice(const std::string& word, const std::vector<std::string>& choices) {
  for (const auto& [other, meant] : other_words())
    if (word == other && has(choices, meant)) return meant;
  return formats::nearest_name(word, choices);
}

// Returns the value in another notation that the schema allows: 64 for "64" and 64.0, true for "True", [64] for 64.
std::optional<Value> find_other_notation(const Node& node, const ParamSchema& schema) {
  if (const std::string* text = node.as_string()) {
    const std::string word = formats::to_lower(*text);
    if (schema.type == ParamType::boolean) {
      if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
      if (word == "false" || word == "no" || word == "off" || word == "0") return false;
    }
    const auto inner = schema.type == ParamType::string || schema.type == ParamType::path || is_list(schema.type)
                           ? std::nullopt
                           : parse_toml_value(*text, node.place);
    if (inner && inner->as_string() == nullptr) return check_value(*inner, schema);
  }
  if (const auto* number = std::get_if<double>(&node.value); number != nullptr && schema.type == ParamType::integer &&
                                                             *number == std::floor(*number) &&
                                                             std::abs(*number) < 1e15) {
    Node whole = node;
    whole.value = static_cast<int64_t>(*number);
    return check_value(whole, schema);
  }
  if (const auto* number = std::get_if<int64_t>(&node.value);
      number != nullptr && schema.type == ParamType::boolean && (*number == 0 || *number == 1))
    return *number == 1;
  const bool is_scalar = node.as_string() == nullptr && node.as_array() == nullptr && node.as_table() == nullptr;
  if ((schema.type == ParamType::string || schema.type == ParamType::path) && is_scalar && schema.choices.empty())
    return node.text;
  if (is_list(schema.type) && node.as_array() == nullptr) {
    Node list = node;
    list.value = Node::Array{node};
    if (auto value = check_value(list, schema)) return value;
  }
  return std::nullopt;
}

// A list with elements in another notation: [64] for ["64"].
std::optional<Value> find_other_list(const Node& node, const ParamSchema& schema) {
  const Node::Array* array = node.as_array();
  if (array == nullptr || (schema.type != ParamType::integers && schema.type != ParamType::floats)) return std::nullopt;
  ParamSchema element = schema;
  element.type = schema.type == ParamType::integers ? ParamType::integer : ParamType::floating;
  Node list = node;
  for (Node& one : *std::get_if<Node::Array>(&list.value)) {
    auto value = check_value(one, element);
    if (!value) value = find_other_notation(one, element);
    if (!value) return std::nullopt;
    if (const auto* whole = std::get_if<int64_t>(&*value)) one.value = *whole;
    if (const auto* number = std::get_if<double>(&*value)) one.value = *number;
  }
  return check_value(list, schema);
}

// Returns the choice that the first wrong word of the value may mean.
std::optional<std::string> find_wrong_word(const Node& node, const std::vector<std::string>& choices) {
  if (const std::string* word = node.as_string())
    return has(choices, *word) ? std::nullopt : find_choice(*word, choices);
  if (const auto* number = std::get_if<int64_t>(&node.value)) return find_choice(std::to_string(*number), choices);
  if (const Node::Array* array = node.as_array())
    for (const Node& one : *array)
      if (const std::string* word = one.as_string(); word != nullptr && !has(choices, *word))
        return find_choice(*word, choices);
  return std::nullopt;
}

std::string did_you_mean(const std::string& text) { return formats::did_you_mean(to_toml(text)); }

}  // namespace

std::vector<std::string> allowed_texts(const ParamSchema& schema) {
  std::vector<std::string> texts = schema.choices;
  for (const TransformPreset& preset : presets_of(schema)) texts.push_back(preset.name);
  return texts;
}

std::optional<Value> check_value(const Node& node, const ParamSchema& schema) {
  if (auto expanded = expand_preset(node, schema)) return expanded;
  const auto value = read_as(node, schema.type);
  return value && std::visit(Allowed{schema}, *value) ? value : std::nullopt;
}

std::string describe_expected(const ParamSchema& schema) {
  const std::string type = to_string(schema.type);
  if (!presets_of(schema).empty()) return type + " or a preset: " + describe_choices(allowed_texts(schema));
  if (is_list(schema.type)) {
    const std::string each = schema.choices.empty() ? describe_range(schema) : " " + describe_choices(schema.choices);
    return each.empty() ? type : type + ", each" + each;
  }
  return schema.choices.empty() ? type + describe_range(schema) : describe_choices(schema.choices);
}

std::string describe_mismatch(const Node& node, const ParamSchema& schema) {
  return describe(node) + "; expected " + describe_expected(schema) + suggest_value(node, schema);
}

std::string suggest_value(const Node& node, const ParamSchema& schema) {
  if (const auto choice = find_wrong_word(node, allowed_texts(schema))) return did_you_mean(*choice);
  auto other = find_other_notation(node, schema);
  if (!other) other = find_other_list(node, schema);
  return other ? "; write " + to_toml(*other) : "";
}

std::string suggest_period(const Node& node, Fractions fractions) {
  std::string text = node.as_string() ? formats::to_lower(*node.as_string()) : node.text;
  double count = 1;
  const auto [number_end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool has_count = error == std::errc();
  std::string unit = has_count ? text.substr(static_cast<size_t>(number_end - text.data())) : text;
  std::erase(unit, ' ');
  constexpr double kManyEpochs = 100;
  if (unit.empty()) unit = count < kManyEpochs ? "epochs" : "steps";
  if (unit == "s" || unit == "m" || unit == "h") unit = unit == "s" ? "seconds" : unit == "m" ? "minutes" : "hours";
  if (unit == "iterations" || unit == "batches") unit = "steps";
  const auto nearest = formats::nearest_name(unit, {"epochs", "steps", "seconds", "minutes", "hours"});
  if (!nearest) return "";
  const std::string number = has_count ? text.substr(0, static_cast<size_t>(number_end - text.data())) : "1";
  const std::string meant = number + " " + (count == 1 ? nearest->substr(0, nearest->size() - 1) : *nearest);
  return parse_period(meant, fractions) ? did_you_mean(meant) : "";
}

std::string suggest_subset(const Node& node) {
  const std::string text = node.as_string() ? *node.as_string() : node.text;
  const auto share = formats::parse_number<double>(text);
  if (!share || !(*share > 0 && *share <= 100)) return "";
  const double percent = *share <= 1 ? *share * 100 : *share;
  return percent == std::floor(percent) ? did_you_mean(fmt::format("{}%", percent)) : "";
}

std::string suggest_device(const Node& node) {
  const auto suggest = [](const std::string& meant) { return parse_device_choice(meant) ? did_you_mean(meant) : ""; };
  if (const auto* index = std::get_if<int64_t>(&node.value)) return suggest("cuda:" + std::to_string(*index));
  if (node.as_string() == nullptr) return "";
  std::string word = formats::to_lower(*node.as_string());
  if (word.starts_with("gpu") || word.starts_with("cuda")) {
    std::string index = word.substr(word.find_last_not_of("0123456789") + 1);
    return suggest(index.empty() ? "cuda" : "cuda:" + index);
  }
  const auto nearest = formats::nearest_name(word, {"auto", "cpu", "cuda"});
  return nearest ? did_you_mean(*nearest) : "";
}

}  // namespace tenon::config
