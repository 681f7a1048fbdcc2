#include "framework/config/values/suggest_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "framework/config/values/check_value.h"
#include "framework/config/values/device_choice.h"
#include "framework/formats/nearest_name.h"

namespace tenon::config {
namespace {

bool takes_list(ParamType type) {
  return type == ParamType::integers || type == ParamType::floats || type == ParamType::strings;
}

// Names that PyTorch and other trainers have for values of run files.
const std::vector<std::pair<std::string, std::string>>& other_words() {
  static const std::vector<std::pair<std::string, std::string>> words = {
      {"16", "fp16"},       {"16-mixed", "fp16"},   {"32", "fp32"},        {"bf16-mixed", "bf16"}, {"bfloat16", "bf16"},
      {"float16", "fp16"},  {"float32", "fp32"},    {"half", "fp16"},      {"high", "tf32"},       {"highest", "fp32"},
      {"adaptive", "auto"}, {"eval", "validation"}, {"dev", "validation"}, {"training", "train"}};
  return words;
}

// Returns the choice that a word may mean.
std::optional<std::string> find_choice(const std::string& word, const std::vector<std::string>& choices) {
  for (const auto& [other, meant] : other_words())
    if (word == other && std::find(choices.begin(), choices.end(), meant) != choices.end()) return meant;
  return formats::nearest_name(word, choices);
}

// Returns the value in another notation that the schema allows: 64 for "64" and 64.0, true for "True", [64] for 64.
std::optional<Value> find_other_notation(const Node& node, const ParamSchema& schema) {
  if (const std::string* text = node.as_string()) {
    std::string word = *text;
    for (char& letter : word)
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (schema.type == ParamType::boolean) {
      if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
      if (word == "false" || word == "no" || word == "off" || word == "0") return false;
    }
    const auto inner = schema.type == ParamType::string || schema.type == ParamType::path || takes_list(schema.type)
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
  if (takes_list(schema.type) && node.as_array() == nullptr) {
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
  const auto is_choice = [&](const std::string& word) {
    return std::find(choices.begin(), choices.end(), word) != choices.end();
  };
  if (const std::string* word = node.as_string()) return is_choice(*word) ? std::nullopt : find_choice(*word, choices);
  if (const auto* number = std::get_if<int64_t>(&node.value)) return find_choice(std::to_string(*number), choices);
  if (const Node::Array* array = node.as_array())
    for (const Node& one : *array)
      if (const std::string* word = one.as_string(); word != nullptr && !is_choice(*word))
        return find_choice(*word, choices);
  return std::nullopt;
}

std::string to_lower_case(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

std::string did_you_mean(const std::string& text) { return formats::did_you_mean(to_toml(text)); }

}  // namespace

std::string suggest_value(const Node& node, const ParamSchema& schema) {
  if (const auto choice = find_wrong_word(node, allowed_texts(schema))) return did_you_mean(*choice);
  auto other = find_other_notation(node, schema);
  if (!other) other = find_other_list(node, schema);
  return other ? "; write " + to_toml(*other) : "";
}

std::string suggest_period(const Node& node, Fractions fractions) {
  std::string text = node.as_string() ? to_lower_case(*node.as_string()) : node.text;
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
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || end != text.data() + text.size() || !(share > 0 && share <= 100)) return "";
  const double percent = share <= 1 ? share * 100 : share;
  if (percent != std::floor(percent)) return "";
  return did_you_mean(std::to_string(static_cast<int>(percent)) + "%");
}

std::string suggest_device(const Node& node) {
  const auto suggest = [](const std::string& meant) { return parse_device_choice(meant) ? did_you_mean(meant) : ""; };
  if (const auto* index = std::get_if<int64_t>(&node.value)) return suggest("cuda:" + std::to_string(*index));
  if (node.as_string() == nullptr) return "";
  std::string word = to_lower_case(*node.as_string());
  if (word.starts_with("gpu") || word.starts_with("cuda")) {
    std::string index = word.substr(word.find_last_not_of("0123456789") + 1);
    return suggest(index.empty() ? "cuda" : "cuda:" + index);
  }
  const auto nearest = formats::nearest_name(word, {"auto", "cpu", "cuda"});
  return nearest ? did_you_mean(*nearest) : "";
}

}  // namespace tenon::config
