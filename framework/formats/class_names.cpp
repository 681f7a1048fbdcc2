#include "framework/formats/class_names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "framework/formats/strings.h"
#include "framework/formats/unicode.h"

namespace formats {
namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // std::from_chars accepts none
  const std::optional<Number> number = parse_number<Number>(text);
  return number && std::isfinite(static_cast<double>(*number)) ? number : std::nullopt;
}

template <class Number>
bool sort_by(std::vector<std::string>& names) {
  std::vector<std::pair<Number, std::string>> numbers;
  for (const std::string& name : names) {
    const std::optional<Number> number = parse<Number>(name);
    if (!number) return false;
    numbers.emplace_back(*number, name);
  }
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < names.size(); ++i) names[i] = std::move(numbers[i].second);
  return true;
}

// Python and JSON print lists as "['cat', 'dog']", PostgreSQL as "{cat,dog}".
std::string_view without_brackets(std::string_view text) {
  constexpr std::string_view kOpen = "[({", kClose = "])}";
  if (text.size() < 2 || kOpen.find(text.front()) == std::string_view::npos ||
      kOpen.find(text.front()) != kClose.find(text.back()))
    return text;
  const std::string_view inner = text.substr(1, text.size() - 2);
  const bool is_one_pair = inner.find(text.front()) == std::string_view::npos;  // "(a)|(b)" are two
  return is_one_pair ? inner : text;
}

std::string_view without_quotes(std::string_view text) {
  const bool has_quotes =
      text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.find(text.front(), 1) == text.size() - 1;
  return has_quotes ? text.substr(1, text.size() - 2) : text;
}

// Whether brackets enclose several parts in quotes.
bool is_quoted_list(std::string_view name, char separator) {
  const std::string_view inner = trim(without_brackets(name));
  if (inner.size() < 2 || inner.size() == name.size() || (inner.front() != '\'' && inner.front() != '"')) return false;
  const size_t end = inner.find(inner.front(), 1);
  return end != std::string_view::npos &&
         trim(inner.substr(end + 1)).starts_with(separator == ' ' ? inner.front() : separator);
}

// Doubles do not distinguish large integers.
bool are_different_integers(const std::string& first, const std::string& second) {
  const auto a = parse<int64_t>(first), b = parse<int64_t>(second);
  return a && b && *a != *b;
}

}  // namespace

bool sort_numbers(std::vector<std::string>& names) {
  // Doubles do not distinguish large integers.
  return sort_by<int64_t>(names) || sort_by<double>(names);
}

std::vector<std::string> sort_names(std::vector<std::string> names) {
  if (!sort_numbers(names)) std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<std::vector<std::string>> sort_numbers_as_text(const std::vector<std::string>& names) {
  std::vector<std::string> by_value = names, as_text = names;
  std::sort(as_text.begin(), as_text.end());
  if (!sort_numbers(by_value) || by_value == as_text) return std::nullopt;
  return as_text;
}

std::optional<NamePair> find_equal_names(const std::vector<std::string>& names) {
  std::map<double, std::string> numbers;
  std::map<std::string, std::string> truths;
  for (const std::string& name : names) {
    const std::string* other = nullptr;
    if (const std::optional<double> number = parse<double>(name))
      other = &numbers.emplace(*number, name).first->second;
    else if (const std::string truth = to_lower(name); truth == "true" || truth == "false")
      other = &truths.emplace(truth, name).first->second;
    if (other && *other != name && !are_different_integers(*other, name)) return NamePair{*other, name};
  }
  return std::nullopt;
}

std::optional<NamePair> find_names_of_other_case(const std::vector<std::string>& names) {
  std::map<std::string, std::string> known;
  for (const std::string& name : names) {
    const std::string& other = known.emplace(to_lower(name), name).first->second;
    if (other != name) return NamePair{other, name};
  }
  return std::nullopt;
}

bool is_missing_value(std::string_view text) {
  constexpr std::array<std::string_view, 7> kMissing = {"", "?", "NA", "N/A", "<NA>", "NaN", "nan"};
  return std::find(kMissing.begin(), kMissing.end(), text) != kMissing.end();
}

std::string NameCleaner::clean(std::string_view name) {
  const std::string_view trimmed = trim(name);
  std::string cleaned = compose(trimmed);
  if (cleaned == name) return cleaned;
  constexpr size_t kMost = 3;
  ++changed_;
  has_other_form_ |= cleaned != trimmed;
  const std::string example = '"' + std::string(name) + '"';
  if (examples_.size() < kMost && std::find(examples_.begin(), examples_.end(), example) == examples_.end())
    examples_.push_back(example);
  return cleaned;
}

std::string NameCleaner::describe_changes() const {
  if (changed_ == 0) return "";
  return std::to_string(changed_) + (changed_ == 1 ? " name has" : " names have") + " blanks around " +
         (changed_ == 1 ? "it" : "them") +
         (has_other_form_ ? ", or letters that are apart from their accents (NFD)" : "") + ", such as " +
         list_briefly(examples_) + "; each is read as the name " +
         (has_other_form_ ? "without blanks, in composed form (NFC)" : "without blanks");
}

std::string list_briefly(const std::vector<std::string>& names) {
  constexpr size_t kFirst = 5;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == kFirst && names.size() > kFirst + 1) {
      text += ", ...";
      i = names.size() - 1;
    }
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return text;
}

std::optional<ListedClasses> find_listed_classes(const std::vector<std::string>& names) {
  for (const char separator : {'|', ';', ',', '/', ' '}) {
    std::map<std::string, size_t, std::less<>> uses;  // of each part, also of names without the separator
    std::set<std::string, std::less<>> single;        // names without the separator
    std::vector<std::pair<const std::string*, std::vector<std::string>>> lists;
    for (const std::string& name : names) {
      std::vector<std::string> parts = split_classes(name, {&separator, 1});
      for (const std::string& part : parts) ++uses[part];
      if (parts.size() == 1) single.insert(parts.front());
      if (parts.size() > 1) lists.emplace_back(&name, std::move(parts));
    }
    for (const auto& [name, parts] : lists) {
      const auto all = [&parts = parts](const auto& has) { return std::all_of(parts.begin(), parts.end(), has); };
      const bool are_numbers =
          separator != '/' && all([](const auto& part) { return parse<int64_t>(part).has_value(); });
      const bool are_names = all([&](const auto& part) { return single.contains(part); });
      // "ice cream" and "cream" are names; "Salmon, fresh" and "Salmon, smoked" are, too.
      const bool is_shared = (separator == '|' || separator == ';') &&
                             std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return uses[part] > 1; });
      if (are_numbers || are_names || is_shared || is_quoted_list(*name, separator))
        return ListedClasses{*name, separator};
    }
  }
  return std::nullopt;
}

std::vector<std::string> split_classes(std::string_view cell, std::string_view separator) {
  const std::string_view text = without_brackets(trim(cell));
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (std::string part = clean_name(without_quotes(trim(text.substr(begin, end - begin)))); !part.empty())
      parts.push_back(std::move(part));
    begin = end + separator.size();
  }
  return parts;
}

}  // namespace formats
