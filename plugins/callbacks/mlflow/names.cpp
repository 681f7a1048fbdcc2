#include "plugins/callbacks/mlflow/names.h"

#include <algorithm>
#include <cctype>

namespace mlflow {

namespace {

bool is_allowed(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) || std::string_view("_-./ ").find(c) != std::string_view::npos;
}

}  // namespace

std::string make_metric_name(std::string_view name) {
  std::string made(name);
  for (char& c : made)
    if (!is_allowed(c)) c = '_';
  return shorten(std::move(made), kLongestName);
}

std::string make_param_name(std::string_view key) {
  std::string made;
  for (const char c : key) {
    if (c == '[') {
      made += '.';
    } else if (c != ']') {
      made += is_allowed(c) ? c : '_';
    }
  }
  return shorten(std::move(made), kLongestName);
}

std::string shorten(std::string text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  text.resize(bytes);
  return text;
}

bool is_mean_over_epoch(std::string_view metric, const std::vector<std::string>& losses) {
  constexpr std::string_view kTrain = "train/";
  if (!metric.starts_with(kTrain)) return false;
  metric.remove_prefix(kTrain.size());
  return metric == "loss" || std::any_of(losses.begin(), losses.end(), [&](const std::string& loss) {
           return metric == loss || metric.starts_with(loss + ".");
         });
}

}  // namespace mlflow
