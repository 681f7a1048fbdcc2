#include "plugins/datasets/parquet/list_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include <tenon/error.hpp>

#include "framework/formats/strings.h"
#include "plugins/datasets/shared/find_files.h"

namespace parquet_dataset {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpectedFolder = "a folder with .parquet files";

bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// `train` in `train-00000-of-00002` and in `train-00000-of-00002-0a1b2c3d4e5f6071`.
std::optional<std::string> split_of_shard(std::string_view stem) {
  const size_t of = stem.rfind("-of-");
  if (of == std::string_view::npos || of < 6) return std::nullopt;
  const size_t dash = stem.rfind('-', of - 1);
  const std::string_view count = stem.substr(of + 4, stem.find('-', of + 4) - (of + 4));
  if (dash == std::string_view::npos || dash == 0 || !are_digits(stem.substr(dash + 1, of - dash - 1)) ||
      !are_digits(count))
    return std::nullopt;
  return std::string(stem.substr(0, dash));
}

// The keywords of the datasets package.
std::optional<std::string> split_of_word(std::string_view word) {
  static const std::map<std::string_view, std::string_view> kWords = {
      {"train", "train"},      {"training", "train"}, {"validation", "validation"},
      {"valid", "validation"}, {"val", "validation"}, {"dev", "validation"},
      {"test", "test"},        {"testing", "test"},   {"eval", "test"},
      {"evaluation", "test"}};
  const auto found = kWords.find(word);
  if (found == kWords.end()) return std::nullopt;
  return std::string(found->second);
}

// The first keyword among the words of a name, which are separated by - _ . or a blank.
std::optional<std::string> split_in_words(std::string_view name) {
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find_first_of("-_. ", begin), name.size());
    if (auto split = split_of_word(name.substr(begin, end - begin))) return split;
    begin = end + 1;
  }
  return std::nullopt;
}

std::vector<std::string> match_pattern(const std::string& pattern) {
  std::vector<std::string> paths = datasets::match_files(pattern, GLOB_BRACE);
  if (paths.empty()) {
    throw tenon::DataError(pattern +
                           ": no such file, and no file matches it as a pattern; expected a .parquet file, a folder "
                           "of them, or a pattern such as data/train-*.parquet");
  }
  return paths;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Hive writes characters that a file name may not have as %2F.
std::string decode_percents(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    decoded += is_escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (is_escape) i += 2;
  }
  return decoded;
}

std::vector<Partition> partitions_of(const fs::path& relative_path) {
  std::vector<Partition> partitions;
  for (const fs::path& part : relative_path.parent_path()) {
    const std::string& name = part.native();
    const size_t equals = name.find('=');
    if (equals != std::string::npos && equals > 0)
      partitions.push_back({decode_percents(name.substr(0, equals)), decode_percents(name.substr(equals + 1))});
  }
  return partitions;
}

// The folders `key=value` at the end of a path.
fs::path partitions_at_end(const fs::path& folder) {
  fs::path found;
  for (fs::path rest = folder.has_filename() ? folder : folder.parent_path();
       rest.filename().native().find('=') != std::string::npos; rest = rest.parent_path())
    found = rest.filename() / found;
  return found;
}

void find_numbers(std::vector<ListedFile>& files) {
  std::map<std::string, bool> are_numbers;
  for (const ListedFile& file : files)
    for (const Partition& partition : file.partitions) {
      const auto known = are_numbers.emplace(partition.column, true).first;
      known->second = known->second && (partition.is_missing() || formats::parse_number<int64_t>(partition.value));
    }
  for (ListedFile& file : files)
    for (Partition& partition : file.partitions) partition.is_number = are_numbers.at(partition.column);
}

std::vector<ListedFile> list_folder(const fs::path& folder) {
  std::vector<ListedFile> files;
  const fs::path of_folder = partitions_at_end(folder);
  datasets::visit_tree(folder, kExpectedFolder, [&](const fs::directory_entry& entry) {
    const char first = entry.path().filename().native().front();
    if (first == '.' || first == '_') return false;
    if (entry.path().extension() == ".parquet" && datasets::is_listed_file(entry, "a Parquet file")) {
      const std::string name = entry.path().lexically_relative(folder).native();
      files.push_back({entry.path().native(), name, split_of(name), partitions_of(of_folder / name)});
    }
    return true;
  });
  if (files.empty()) throw tenon::DataError(folder.native() + ": holds no .parquet file; expected one or more");
  return files;
}

// Returns for example `train (2 files), test (1 file)`.
std::string describe_splits(const std::vector<ListedFile>& files) {
  std::map<std::string, size_t> counts;
  for (const ListedFile& file : files) ++counts[file.split];
  std::string text;
  for (const auto& [split, count] : counts) {
    text += (text.empty() ? "" : ", ") + (split.empty() ? "without a split" : '"' + split + '"') + " (" +
            std::to_string(count) + (count == 1 ? " file)" : " files)");
  }
  return text;
}

}  // namespace

std::string split_of(const std::string& relative_path) {
  const fs::path path(relative_path);
  const std::string stem = path.stem().native();
  if (auto split = split_of_shard(stem)) return *split;
  if (auto split = split_in_words(stem)) return *split;
  for (fs::path folder = path.parent_path(); !folder.empty(); folder = folder.parent_path())
    if (auto split = split_in_words(folder.filename().native())) return *split;
  return "";
}

std::vector<ListedFile> list_files(const std::string& path, const std::string& split) {
  const bool is_folder = datasets::is_folder(path);
  std::vector<ListedFile> files;
  if (is_folder) {
    files = list_folder(path);
  } else {
    for (std::string& file : match_pattern(path)) {
      std::string name = fs::path(file).filename().native();
      std::vector<Partition> partitions = partitions_of(partitions_at_end(fs::path(file).parent_path()) / name);
      files.push_back({std::move(file), name, split_of(name), std::move(partitions)});
    }
  }
  find_numbers(files);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  const bool is_mixed = std::any_of(files.begin(), files.end(),
                                    [&](const ListedFile& file) { return file.split != files.front().split; });
  if (split == "all" || (split.empty() && !(is_folder && is_mixed))) return files;
  const std::string found = describe_splits(files);
  if (split.empty()) {
    throw tenon::DataError(path + ": holds several splits: " + found +
                           "; set the parameter \"split\" to one of them, or to \"all\"");
  }
  std::erase_if(files, [&](const ListedFile& file) { return file.split != split; });
  if (files.empty()) {
    throw tenon::DataError(path + ": has no file of the split \"" + split + "\"; available: " + found +
                           "; correct the parameter \"split\", or leave it out");
  }
  return files;
}

}  // namespace parquet_dataset
