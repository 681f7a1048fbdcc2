#include "framework/config/file/extended_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/config/file/exclusive_keys.h"
#include "framework/config/file/expand_variables.h"
#include "framework/config/toml/toml_limits.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/nearest_path.h"
#include "framework/support/files/read_file.h"

namespace tenon::config {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

namespace {

constexpr size_t kMostFiles = 16;
const std::string kExtends = "extends";
const std::string kUse = "use";

// The cost of parsing grows with the size, and a file of the wrong kind is mostly much larger than a run file. A pipe
// is refused: each process of a run reads the file, and paths in it are relative to its folder.
std::string read_run_file(const fs::path& file) {
  const std::string expected = "a run file (TOML)" + support::suggest_path(file, support::is_file);
  return support::read_file(file, {ErrorKind::configuration, expected, kMostTomlBytes});
}

fs::path folder_of(const fs::path& file) { return support::make_absolute(file).lexically_normal().parent_path(); }

const std::string* use_of(const Node::Table& table) {
  const auto found = table.find(kUse);
  return found == table.end() ? nullptr : found->second.as_string();
}

bool is_other_component(const Node::Table& base, const Node::Table& extending) {
  const std::string* const before = use_of(base);
  const std::string* const after = use_of(extending);
  return before && after && *before != *after;
}

// The keys of `extending` apply.
void merge(Node::Table& base, Node::Table extending) {
  for (auto& [key, value] : extending) {
    const auto known = base.find(key);
    Node::Table* const before = known == base.end() ? nullptr : known->second.as_table();
    Node::Table* const after = value.as_table();
    if (before && after && !is_other_component(*before, *after)) {
      known->second.place = value.place;
      merge(*before, std::move(*after));
    } else {
      base[key] = std::move(value);
    }
  }
}

class Reader {
 public:
  explicit Reader(ExtendedFile& read) : read_(read) {}

  // `from`: the location of the key that names the file; null: the run file itself.
  Node read(const fs::path& file, const SourceLocation* from) {
    enter(file, from);
    Node document = parse(file, from);
    read_.folders[file.string()] = folder_of(file);
    Node::Table& table = *document.as_table();
    if (const auto key = table.find(kExtends); key != table.end()) {
      const Node named = std::move(key->second);
      table.erase(key);
      const std::string* const path = named.as_string();
      if (!path || path->empty())
        throw Error(ErrorKind::configuration, to_string(named.place) + ": extends is " + describe(named) +
                                                  "; expected the path of a run file, relative to this file");
      Node base =
          read((file.parent_path() / expand_variables(*path, named.place, kExtends)).lexically_normal(), &named.place);
      keep_exclusive_keys(*base.as_table(), table);
      merge(*base.as_table(), std::move(table));
      document = std::move(base);
    }
    open_.pop_back();
    return document;
  }

 private:
  void enter(const fs::path& file, const SourceLocation* from) {
    const fs::path absolute = support::make_absolute(file).lexically_normal();
    const bool is_open = std::ranges::find(open_, absolute) != open_.end();
    open_.push_back(absolute);
    if (!is_open && open_.size() <= kMostFiles) return;
    std::string chain;
    for (const fs::path& one : open_) chain += (chain.empty() ? "" : " -> ") + one.filename().string();
    throw Error(ErrorKind::configuration, to_string(*from) + ": extends leads " +
                                              (is_open ? std::string("back to the same file")
                                                       : "through more than " + std::to_string(kMostFiles) + " files") +
                                              ": " + chain +
                                              "; expected a file that ends the chain: remove extends from one of them");
  }

  static Node parse(const fs::path& file, const SourceLocation* from) {
    try {
      return parse_toml(read_run_file(file), file.string());
    } catch (const Error& error) {
      if (!from || support::is_file(file)) throw;
      throw Error(error.kind(), to_string(*from) + ": extends: " + error.what());
    }
  }

  ExtendedFile& read_;
  std::vector<fs::path> open_;  // the files from the run file to the one that is being read
};

}  // namespace

ExtendedFile read_extended_file(const fs::path& file) {
  ExtendedFile read;
  read.document = Reader(read).read(file, nullptr);
  expand_variables(read.document, "");
  return read;
}

}  // namespace tenon::config
