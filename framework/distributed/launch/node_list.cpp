#include "framework/distributed/launch/node_list.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tenon::distributed {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Returns the first number of "01-04,7" with its leading zeros.
std::optional<std::string> first_of_range(const std::string& range) {
  const bool is_range =
      std::all_of(range.begin(), range.end(), [](char one) { return is_digit(one) || one == '-' || one == ','; });
  const size_t length = std::min(range.find_first_of("-,"), range.size());
  if (!is_range || length == 0) return std::nullopt;
  return range.substr(0, length);
}

// Reads the number at the start of the text. Returns false if there is none or it is a billion or more.
bool take_number(const char*& from, const char* end, int64_t& number) {
  const char* const start = from;
  if (start == end || !is_digit(*start)) return false;
  const auto [rest, error] = std::from_chars(start, end, number);
  from = rest;
  return error == std::errc() && number < 1'000'000'000;
}

bool take(const char*& from, const char* end, const std::string& word) {
  if (!std::string(from, end).starts_with(word)) return false;
  from += word.size();
  return true;
}

constexpr int64_t kMaxNodes = 1'000'000;

}  // namespace

std::optional<std::string> first_node(const std::string& list) {
  std::string name;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] == ']' || std::isspace(static_cast<unsigned char>(list[i]))) return std::nullopt;
    if (list[i] != '[') {
      name += list[i];
      continue;
    }
    const size_t close = list.find(']', i);
    if (close == list.npos) return std::nullopt;
    const auto number = first_of_range(list.substr(i + 1, close - i - 1));
    if (!number) return std::nullopt;
    name += *number;
    i = close;
  }
  return name.empty() ? std::nullopt : std::optional(name);
}

std::optional<std::vector<int64_t>> parse_tasks_per_node(const std::string& text) {
  std::vector<int64_t> tasks;
  const char* from = text.data();
  const char* const end = from + text.size();
  do {
    int64_t of_each = 0;
    int64_t nodes = 1;
    if (!take_number(from, end, of_each)) return std::nullopt;
    if (take(from, end, "(x") && !(take_number(from, end, nodes) && take(from, end, ")"))) return std::nullopt;
    if (static_cast<int64_t>(tasks.size()) + nodes > kMaxNodes) return std::nullopt;
    tasks.insert(tasks.end(), static_cast<size_t>(nodes), of_each);
  } while (take(from, end, ","));
  return from == end ? std::optional(tasks) : std::nullopt;
}

}  // namespace tenon::distributed
