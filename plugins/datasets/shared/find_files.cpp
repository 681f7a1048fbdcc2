#include "plugins/datasets/shared/find_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "framework/formats/unicode.h"
#include "plugins/datasets/shared/warn.h"

namespace datasets {
namespace {

namespace fs = std::filesystem;

// Other errors than a missing file are reported when the file is read.
bool is_missing(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool has_other_form(const fs::path& path) {
  std::error_code error;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (formats::compose(name) == formats::compose(path.filename().native())) return true;
  }
  return false;
}

std::string explain(const std::string& path) {
  std::string with_slashes = path;
  std::replace(with_slashes.begin(), with_slashes.end(), '\\', '/');
  if (with_slashes != path) return "; the path has backslashes; expected / between folders: replace each \\ by /";
  const fs::path file(path);
  const std::string name(formats::trim(file.filename().native()));
  if (name != file.filename().native() && !is_missing((file.parent_path() / name).native()))
    return "; the path ends with a blank: remove it";
  if (has_other_form(file))
    return "; a file has this name in another Unicode form (NFC or NFD): rename the file, or write its name as it is";
  return "";
}

}  // namespace

tenon::Param ListedPaths::parameter() {
  return tenon::param("missing_files", "error")
      .choices({"error", "warn"})
      .doc(
          "what to do if listed files do not exist when the dataset is created: report an error, or a warning; then "
          "data.on_error decides what happens at the sample");
}

void ListedPaths::add(const std::string& path, const std::string& place) {
  ++listed_;
  if (!is_missing(path)) return;
  constexpr size_t kMostExamples = 3;
  if (missing_++ == 0) first_ = path;
  if (missing_ <= kMostExamples) examples_ += (missing_ == 1 ? "" : ", ") + path + " (" + place + ')';
}

void ListedPaths::check(const std::string& missing_files) const {
  if (missing_ == 0) return;
  const std::string found = list_ + ": " + std::to_string(missing_) + " of its " + std::to_string(listed_) + " files " +
                            (missing_ == 1 ? "does" : "do") + " not exist: " + examples_ +
                            (missing_ > 3 ? ", ..." : "") + explain(first_);
  if (missing_files == "warn") return warn(found);
  throw tenon::DataError(found + "; correct the list" +
                         (missing_files.empty() ? "" : ", or set missing_files = \"warn\" to use the other files"));
}

}  // namespace datasets
