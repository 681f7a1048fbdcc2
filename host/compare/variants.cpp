#include "host/compare/variants.h"

#include <algorithm>
#include <map>

#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

// Splits at commas outside of brackets, braces and quotes.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = '\0';
  for (const char letter : text) {
    if (quote != '\0')
      quote = letter == quote ? '\0' : quote;
    else if (letter == '"' || letter == '\'')
      quote = letter;
    else if (letter == '[' || letter == '{')
      ++depth;
    else if (letter == ']' || letter == '}')
      --depth;
    if (letter == ',' && depth == 0 && quote == 0)
      values.emplace_back();
    else
      values.back() += letter;
  }
  return values;
}

// Returns one override for each value of `train.precision=fp32,bf16`, an argument of `option`.
std::vector<std::string> split_varied(const std::string& text, const std::string& option = "--vary") {
  const size_t equals = text.find('=');
  const auto refuse = [&](const char* what) {
    throw_command_line_error("{0} is \"{1}\"{2}; expected {0} KEY=VALUE,VALUE,... such as train.precision=fp32,bf16",
                             option, text, what);
  };
  if (equals == text.npos || equals == 0) refuse("");
  std::vector<std::string> overrides;
  for (const std::string& value : split_values(text.substr(equals + 1))) {
    if (value.empty()) refuse(", with an empty value");
    overrides.push_back(text.substr(0, equals + 1) + value);
  }
  return overrides;
}

// Shortens "train.precision=bf16" to "precision=bf16".
std::string shorten(const std::string& override) {
  const size_t equals = override.find('=');
  const size_t dot = override.rfind('.', equals);
  return dot == override.npos ? override : override.substr(dot + 1);
}

// Names each file by the shortest part of its path that distinguishes it from the others.
std::vector<std::string> name_files(const std::vector<std::filesystem::path>& configs) {
  std::map<std::string, int> stems;
  for (const auto& config : configs) ++stems[config.stem().string()];
  std::vector<std::string> names;
  for (const auto& config : configs) {
    const std::string stem = config.stem().string();
    names.push_back(configs.size() == 1 ? "" : stems[stem] > 1 ? config.string() : stem);
  }
  return names;
}

// The first value varies slowest.
std::vector<std::vector<std::string>> combine(const std::vector<std::string>& varied) {
  std::vector<std::vector<std::string>> combinations(1);
  for (const std::string& text : varied) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& combination : combinations)
      for (const std::string& override : split_varied(text)) {
        longer.push_back(combination);
        longer.back().push_back(override);
      }
    combinations = std::move(longer);
  }
  return combinations;
}

// The n-th value of each list belongs to the n-th variant.
std::vector<std::vector<std::string>> pair_up(const std::vector<std::string>& varied,
                                              const std::vector<std::string>& paired) {
  if (varied.size() != 1)
    throw_command_line_error(
        "--with is given with {} --vary; expected one --vary, with the values that those of --with belong to",
        support::format_count(std::ssize(varied), "time"));
  std::vector<std::vector<std::string>> variants;
  for (std::string& override : split_varied(varied.front())) variants.push_back({std::move(override)});
  for (const std::string& text : paired) {
    const std::vector<std::string> values = split_varied(text, "--with");
    if (values.size() != variants.size())
      throw_command_line_error("--with is \"{}\", with {}; expected {}, one for each value of --vary {}", text,
                               support::format_count(std::ssize(values), "value"),
                               support::format_count(std::ssize(variants), "value"), varied.front());
    for (size_t i = 0; i < values.size(); ++i) variants[i].push_back(values[i]);
  }
  return variants;
}

}  // namespace

std::vector<Variant> list_variants(const std::vector<std::filesystem::path>& configs,
                                   const std::vector<std::string>& varied, const std::vector<std::string>& paired) {
  const auto combinations = paired.empty() ? combine(varied) : pair_up(varied, paired);
  const std::vector<std::string> files = name_files(configs);
  std::vector<Variant> variants;
  for (size_t i = 0; i < configs.size(); ++i)
    for (const auto& overrides : combinations) {
      std::string name = files[i];
      for (const std::string& override : overrides) name += (name.empty() ? "" : ", ") + shorten(override);
      if (name.empty()) name = configs[i].stem().string();
      const bool is_known = std::ranges::any_of(variants, [&](const Variant& other) { return other.name == name; });
      if (is_known) throw_command_line_error("\"{}\" is listed twice; expected each file and each value once", name);
      variants.push_back({name, configs[i], overrides});
    }
  return variants;
}

std::string name_folder(const std::string& name) {
  std::string folder;
  for (const char letter : name) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || std::string("._=-").find(letter) != std::string::npos;
    if (is_plain)
      folder += letter;
    else if (!folder.empty() && folder.back() != '_')
      folder += '_';
  }
  return folder.find_first_not_of("._") == folder.npos ? "run" : folder;
}

}  // namespace tenon::host
