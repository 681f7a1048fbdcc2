#include "plugins/datasets/text_windows/text_file.h"

#include <algorithm>
#include <vector>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/path_pattern.h"
#include "plugins/regular_file.h"

namespace text_windows {
namespace {

std::vector<std::string> list_files(const std::string& pattern) {
  std::vector<std::string> files = datasets::match_files(pattern, 0);
  if (files.empty()) {
    throw tenon::DataError(
        pattern +
        ": no such file, and no file matches it as a pattern; expected a text file, or a pattern such as texts/*.txt");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::string text;
  for (const std::string& file : list_files(path)) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += plugins::read_whole(file, "a text");
  }
  return text;
}

}  // namespace text_windows
