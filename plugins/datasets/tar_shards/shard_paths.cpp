#include "plugins/datasets/tar_shards/shard_paths.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/list_folder.h"
#include "plugins/datasets/shared/path_pattern.h"

namespace tar_shards {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxShards = 1'000'000;

bool is_compressed_tar(std::string_view name) {
  constexpr std::string_view kEndings[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<std::string> list_folder(const fs::path& folder) {
  std::vector<std::string> shards;
  datasets::visit_folder(folder, "a folder of .tar files", [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().native();
    if (name.front() == '.') return;
    if (is_compressed_tar(name)) {
      throw tenon::DataError(entry.path().native() +
                             ": is compressed; expected plain .tar files; uncompress it, or "
                             "remove it from the folder");
    }
    if (entry.path().extension() == ".tar") shards.push_back(entry.path().native());
  });
  std::sort(shards.begin(), shards.end());
  if (shards.empty()) throw tenon::DataError(folder.native() + ": holds no .tar file; expected one or more");
  return shards;
}

[[noreturn]] void refuse_braces(const std::string& path, std::string_view braces) {
  throw tenon::DataError(path + ": the braces {" + std::string(braces) +
                         "} name no files; expected a range such as {000000..000009}, or a list such as {a,b}");
}

// Parses a number that may have leading zeros.
int64_t number_of(std::string_view text, const std::string& path, std::string_view braces) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) refuse_braces(path, braces);
  return number;
}

std::vector<std::string> expand_range(std::string_view braces, size_t dots, const std::string& path) {
  const std::string_view first = braces.substr(0, dots);
  const std::string_view last = braces.substr(dots + 2);
  const int64_t begin = number_of(first, path, braces);
  const int64_t end = number_of(last, path, braces);
  if (end < begin || end - begin >= static_cast<int64_t>(kMaxShards)) refuse_braces(path, braces);
  const bool is_padded = first.size() > 1 && first.front() == '0';
  std::vector<std::string> texts;
  for (int64_t number = begin; number <= end; ++number) {
    std::string text = std::to_string(number);
    if (is_padded && text.size() < first.size()) text.insert(0, first.size() - text.size(), '0');
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> expand_list(std::string_view braces, const std::string& path) {
  if (braces.find(',') == std::string_view::npos) refuse_braces(path, braces);
  std::vector<std::string> texts;
  for (size_t begin = 0; begin <= braces.size();) {
    const size_t end = std::min(braces.find(',', begin), braces.size());
    texts.emplace_back(braces.substr(begin, end - begin));
    begin = end + 1;
  }
  return texts;
}

// Expands `text` from its first braces on. `path` is the whole path, for messages.
std::vector<std::string> expand(const std::string& text, const std::string& path) {
  const size_t open = text.find('{');
  if (open == std::string::npos) return {text};
  const size_t close = text.find('}', open);
  if (close == std::string::npos) {
    throw tenon::DataError(path + ": has a { without a }; expected a range such as {000000..000009}");
  }
  const std::string_view braces = std::string_view(text).substr(open + 1, close - open - 1);
  const size_t dots = braces.find("..");
  const auto middles = dots == std::string_view::npos ? expand_list(braces, path) : expand_range(braces, dots, path);
  const std::vector<std::string> ends = expand(text.substr(close + 1), path);
  if (middles.size() * ends.size() > kMaxShards) refuse_braces(path, braces);
  std::vector<std::string> texts;
  for (const std::string& middle : middles) {
    for (const std::string& end : ends) texts.push_back(text.substr(0, open) + middle + end);
  }
  return texts;
}

}  // namespace

std::vector<std::string> list_shards(const std::string& path) {
  if (datasets::is_folder(path)) return list_folder(path);
  const auto [existing, pattern] = datasets::split_pattern(path);
  std::vector<std::string> shards = expand(pattern, path);
  for (std::string& shard : shards) shard.insert(0, existing);
  return shards;
}

}  // namespace tar_shards
