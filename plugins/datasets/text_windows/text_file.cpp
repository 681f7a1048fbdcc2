#include "plugins/datasets/text_windows/text_file.h"

#include <glob.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include <tenon/error.hpp>

namespace text_windows {
namespace {

std::vector<std::string> list_files(const std::string& pattern) {
  glob_t found = {};
  const int status = ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (files.empty()) {
    throw tenon::DataError(
        pattern +
        ": no such file, and no file matches it as a pattern; expected a text file, or a pattern such as texts/*.txt");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (file) bytes << file.rdbuf();
  if (!file || !bytes) throw tenon::DataError(path + ": cannot be read, or is empty; expected a text");
  return std::move(bytes).str();
}

}  // namespace

std::string read_text(const std::string& path) {
  std::string text;
  for (const std::string& file : list_files(path)) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += read_file(file);
  }
  return text;
}

}  // namespace text_windows
