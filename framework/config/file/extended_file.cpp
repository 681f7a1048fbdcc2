#include "framework/config/file/extended_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/file/moved_plan.h"
#include "framework/config/toml/value.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"

namespace tenon::config {
namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::configuration, message); }

constexpr size_t kMostFiles = 16;
const std::string kExtends = "extends";
const std::string kUse = "use";

// The cost of parsing grows with the size, and a file of the wrong kind is mostly much larger than a run file. A pipe
// is refused: each process of a run reads the file, and paths in it are relative to its folder.
std::string read_run_file(const fs::path& file) {
  const std::string expected = "a run file (TOML)" + support::suggest_path(file, support::is_file);
  return support::read_file(file, {ErrorKind::configuration, expected, kMostTomlBytes});
}

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

// Each: a table, and two of its keys that exclude each other.
const std::array<std::array<std::string, 3>, 2> kExclusiveKeys = {
    {{"train", "epochs", "steps"}, {"schedule", "warmup", "warmup_steps"}}};

// Null if there is none.
Node::Table* find_table(Node::Table* root, const std::string& name) {
  if (!root) return nullptr;
  const auto found = root->find(name);
  return found == root->end() ? nullptr : found->second.as_table();
}

// Removes from `base` the keys that a key of `extending` excludes, such as train.epochs if that sets train.steps. Both
// are root tables.
void keep_exclusive_keys(Node::Table& base, Node::Table& extending) {
  for (const auto& [table, first, second] : kExclusiveKeys) {
    Node::Table* const before = find_table(&base, table);
    const Node::Table* const after = find_table(&extending, table);
    if (!before || !after) continue;
    if (after->contains(first)) before->erase(second);
    if (after->contains(second)) before->erase(first);
  }
}

const std::string kBegin = "${";
const std::string kDefault = ":-";
constexpr const char* kForms = "${NAME} or ${NAME:-text}, or $${ for ${ itself";

bool is_name(const std::string& text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

// The value of "NAME" or "NAME:-text". `where`: the location, the key and its text.
std::string read_variable(const std::string& inside, const std::string& where) {
  const size_t at = inside.find(kDefault);
  const std::string name = inside.substr(0, at);
  if (!is_name(name))
    refuse(where + ", and \"" + name + "\" is not the name of an environment variable; expected " + kForms);
  const char* const value = std::getenv(name.c_str());
  if (value && !support::is_utf8(value))
    refuse(where + ", but the environment variable " + name + " is not UTF-8; expected UTF-8, as in a run file");
  if (value && (*value != '\0' || at == inside.npos)) return value;
  if (at != inside.npos) return inside.substr(at + kDefault.size());
  refuse(fmt::format("{}, but the environment variable {} is not set; expected a value: set it, or write ${{{}:-text}}",
                     where, name, name));
}

// Replaces `${NAME}` by the environment variable, `${NAME:-text}` by the text if the variable is not set or empty, and
// `$${` by `${`. Other uses of `$` stay. `key`: for messages.
std::string expand_variables(const std::string& text, const SourceLocation& place, const std::string& key) {
  std::string expanded;
  size_t done = 0;
  for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, done)) {
    if (at > done && text[at - 1] == '$') {
      expanded += text.substr(done, at - done - 1) + kBegin;
      done = at + kBegin.size();
      continue;
    }
    const size_t end = text.find('}', at);
    const std::string where = fmt::format("{}: {} is {}", to_string(place), key, to_toml(text));
    if (end == text.npos) refuse(where + ", where ${ has no }; expected " + kForms);
    const size_t inside = at + kBegin.size();
    expanded += text.substr(done, at - done) + read_variable(text.substr(inside, end - inside), where);
    done = end + 1;
  }
  return expanded + text.substr(done);
}

// Replaces them in all strings of the node.
void expand_variables(Node& node, const std::string& key) {
  if (auto* const text = std::get_if<std::string>(&node.value)) *text = expand_variables(*text, node.place, key);
  if (Node::Array* const array = node.as_array())
    for (Node& element : *array) expand_variables(element, key);
  if (Node::Table* const table = node.as_table())
    for (auto& [name, value] : *table) expand_variables(value, key.empty() ? name : key + "." + name);
}

class Reader {
 public:
  explicit Reader(ExtendedFile& read) : read_(read) {}

  // `from`: the location of the key that names the file; null: the run file itself.
  Node read(const fs::path& file, const SourceLocation* from) {
    enter(file, from);
    Node document = parse(file, from);
    read_.folders[file.string()] = open_.back().parent_path();
    Node::Table& table = *document.as_table();
    if (const auto key = table.find(kExtends); key != table.end()) {
      const Node named = std::move(key->second);
      table.erase(key);
      const std::string* const path = named.as_string();
      if (!path || path->empty())
        refuse(fmt::format("{}: extends is {}; expected the path of a run file, relative to this file",
                           to_string(named.place), describe(named)));
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
    refuse(fmt::format("{}: extends leads {}: {}; expected a file that ends the chain: remove extends from one of them",
                       to_string(*from),
                       is_open ? "back to the same file" : fmt::format("through more than {} files", kMostFiles),
                       formats::join(open_, " -> ", [](const fs::path& one) { return one.filename().string(); })));
  }

  static Node parse(const fs::path& file, const SourceLocation* from) {
    try {
      return parse_toml(read_run_file(file), file.string());
    } catch (const Error& error) {
      if (!from || support::is_file(file)) throw;
      throw Error(error.kind(), "{}: extends: {}", to_string(*from), error.what());
    }
  }

  ExtendedFile& read_;
  std::vector<fs::path> open_;  // the files from the run file to the one that is being read
};

// A dataset that `like` may name.
struct Source {
  std::string name;          // "train"
  const Node::Table* table;  // null: the file has no such dataset
};

// `"train" or "validation", for the parameters of that dataset`.
std::string list_sources(const std::vector<Source>& sources) {
  return fmt::format("\"{}\", for the parameters of {}", formats::join(sources, "\" or \"", &Source::name),
                     sources.size() == 1 ? "[data." + sources[0].name + "]" : "that dataset");
}

void complete(Node::Table& dataset, const std::vector<Source>& sources, const std::string& path,
              Diagnostics& diagnostics) {
  const auto like = dataset.find("like");
  if (like == dataset.end()) return;
  const std::string* const name = like->second.as_string();
  const Node::Table* table = nullptr;
  for (const Source& source : sources)
    if (name && *name == source.name) table = source.table;
  if (!table)
    return diagnostics.add(like->second.place, "{}.like is {}; expected {}", path, describe(like->second),
                           list_sources(sources));
  const std::string from = *name;
  const Node place = like->second;
  dataset.erase(like);
  const auto other = table->find("use");
  if (other != table->end()) dataset.emplace("use", other->second);
  const auto use = dataset.find("use");
  const bool is_same = use_of(dataset) && use_of(*table) && *use_of(dataset) == *use_of(*table);
  if (use != dataset.end() && other != table->end() && !is_same)
    return diagnostics.add(place.place,
                           "{0}.like is \"{1}\", but {0}.use is {2} and data.{1}.use is {3}; expected the same "
                           "component: remove like, or use",
                           path, from, describe(use->second), describe(other->second));
  const auto params = table->find("params");
  if (params == table->end() || !params->second.as_table()) return;
  const auto [given, is_new] = dataset.emplace("params", params->second);
  Node::Table* const given_table = given->second.as_table();
  if (is_new || !given_table) return;
  for (const auto& [parameter, value] : *params->second.as_table()) given_table->emplace(parameter, value);
}

// Completes a single dataset or several named ones.
void complete_all(Node::Table* data, const std::string& name, const std::vector<Source>& sources,
                  Diagnostics& diagnostics) {
  Node::Table* const datasets = find_table(data, name);
  if (!datasets) return;
  complete(*datasets, sources, "data." + name, diagnostics);
  for (auto& [key, dataset] : *datasets)
    if (Node::Table* const table = dataset.as_table(); table && key != "params")
      complete(*table, sources, "data." + name + "." + key, diagnostics);
}

}  // namespace

ExtendedFile read_extended_file(const fs::path& file) {
  ExtendedFile read;
  read.document = Reader(read).read(file, nullptr);
  expand_variables(read.document, "");
  follow_moved_plan(read.document, file);
  return read;
}

std::string escape_variables(const std::string& text) { return formats::replace_all(text, kBegin, "$" + kBegin); }

void drop_excluded_key(Node& document, const std::string& key) {
  for (const auto& [table, first, second] : kExclusiveKeys) {
    Node::Table* const keys = find_table(document.as_table(), table);
    const std::string excluded = key == table + "." + first ? second : key == table + "." + second ? first : "";
    const auto other = keys ? keys->find(excluded) : Node::Table::iterator();
    const bool is_of_file = keys && other != keys->end() && other->second.place.line > 0;
    if (!excluded.empty() && is_of_file) keys->erase(other);
  }
}

void apply_like(Node& document, Diagnostics& diagnostics) {
  Node::Table* const data = find_table(document.as_table(), "data");
  const Source train{kTrain, find_table(data, kTrain)};
  complete_all(data, kValidation, {train}, diagnostics);
  // Several named validation datasets have no parameters in common.
  const Node::Table* validation = find_table(data, kValidation);
  if (validation && !validation->contains("use")) validation = nullptr;
  complete_all(data, kTest, {train, {kValidation, validation}}, diagnostics);
}

}  // namespace tenon::config
