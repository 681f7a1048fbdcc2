#include "plugins/datasets/text_windows/text_file.h"

#include <algorithm>
#include <vector>

#include <tenon/error.hpp>

#include "framework/formats/encoding.h"
#include "framework/formats/unicode.h"
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
    const std::string read = components::read_whole(file, "a text");
    if (const std::string found = formats::find_wide_encoding(read); !found.empty())
      throw tenon::DataError(file + ": " + found);
    text.append(read, read.starts_with(formats::kByteOrderMark) ? formats::kByteOrderMark.size() : 0);
  }
  return text;
}

std::string unify(std::string_view text) {
  std::string lines;
  lines.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') lines += text[i];
  return formats::compose(lines);
}

}  // namespace text_windows
