// Reads the keys of a table into settings, checks their types and ranges, and reports unknown keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/config/file/keys.h"
#include "framework/config/file/run_config.h"
#include "framework/config/toml/diagnostics.h"
#include "framework/config/toml/toml_tree.h"
#include "framework/config/values/component_schema.h"

namespace tenon::config {

// A key that was read, whether the file has it or not.
struct RequestedKey {
  enum class Form {
    value,
    value_or_word,  // such as "auto"
    period,
    subset,
    device,
    digest,
    table,
    tables,  // [[key]]
    rest     // all other keys of the table; the schema of the component or optimizer defines them
  };
  std::string path;  // "train.epochs", "loss[].weight"; "*" for any name
  Form form;
  ParamSchema schema;  // for value and value_or_word
  std::string word;    // for value_or_word
  ResumePolicy on_resume = ResumePolicy::reported;
};

// The key that was read last. Declares more about it: `table.read("seed", seed).on_resume(ResumePolicy::fixed)`.
class KeyDeclaration {
 public:
  explicit KeyDeclaration(RequestedKey* key) : key_(key) {}
  const KeyDeclaration& on_resume(ResumePolicy policy) const {
    if (key_ != nullptr) key_->on_resume = policy;
    return *this;
  }
  const KeyDeclaration& describe(const char* doc) const {
    if (key_ != nullptr) key_->schema.doc = doc;
    return *this;
  }

 private:
  RequestedKey* key_;  // null: no recording
};

// Wrong values and unknown keys add errors; the setting is then unset. Every key that is read becomes a known key, so
// read all keys before reject_unknown_keys().
class TableReader {
 public:
  // REQUIRES: the node is a table.
  TableReader(const Node& table, std::string path, Diagnostics& diagnostics);
  // Reads a virtual file with one empty table of every kind, and records all keys that are read in `requested`. has()
  // and keys() report every key as present, so that conditional keys are recorded too.
  TableReader(std::vector<RequestedKey>& requested, Diagnostics& diagnostics);

  // Sets the policy of the keys and tables that are read afterwards. The default is that of the table around it.
  void on_resume(ResumePolicy policy) { on_resume_ = policy; }

  // `range` is an interval, see parse_interval.
  KeyDeclaration read(const std::string& key, Setting<bool>& setting);
  KeyDeclaration read(const std::string& key, Setting<int64_t>& setting, const char* range);
  KeyDeclaration read(const std::string& key, Setting<double>& setting, const char* range);
  KeyDeclaration read(const std::string& key, Setting<std::string>& setting);
  // Requires each element to be one of the choices, if there are any.
  KeyDeclaration read(const std::string& key, Setting<std::vector<std::string>>& setting,
                      const std::vector<std::string>& choices = {});
  // Requires one of the choices.
  KeyDeclaration read(const std::string& key, Setting<std::string>& setting, const std::vector<std::string>& choices);
  KeyDeclaration read(const std::string& key, Setting<Period>& setting, Fractions fractions = Fractions::no);
  KeyDeclaration read(const std::string& key, Setting<Subset>& setting);
  KeyDeclaration read(const std::string& key, Setting<DeviceChoice>& setting);
  // Reads an integer in `range`, or "auto" for the value `automatic`.
  KeyDeclaration read_or_auto(const std::string& key, Setting<int64_t>& setting, const char* range, int64_t automatic);
  // Reads a boolean or the word. The setting is "true", "false" or the word.
  KeyDeclaration read_flag_or(const std::string& key, Setting<std::string>& setting, const std::string& word);
  // The key is a file name. The value is its SHA-256 in 64 hexadecimal digits. The setting is in lower case.
  KeyDeclaration read_digest(const std::string& key, Setting<std::string>& setting);

  // Returns the table with this key, or an empty table at the location of this table.
  TableReader table(const std::string& key);

  // Returns the tables with the header [[key]].
  std::vector<TableReader> tables(const std::string& key);

  // Returns the keys that were not read yet and marks them as known. The caller checks their values.
  Node::Table take_rest();

  void reject_unknown_keys() const;

  bool has(const std::string& key) const { return requested_ != nullptr || entries().count(key) > 0; }
  bool has_table(const std::string& key) const {
    return has(key) && (requested_ != nullptr || entries().at(key).as_table() != nullptr);
  }
  std::vector<std::string> keys() const;  // in the order of the file
  const std::string& path() const { return path_; }
  const SourceLocation& place() const { return place_; }

 private:
  TableReader(const Node* table, const SourceLocation& place, std::string path, Diagnostics& diagnostics,
              std::vector<RequestedKey>* requested = nullptr, ResumePolicy on_resume = ResumePolicy::reported);

  void note(const std::string& key, RequestedKey::Form form);
  const Node::Table& entries() const;
  const Node* find(const std::string& key);
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  void add_mismatch(const std::string& key, const Node& node, const std::string& expected);
  // Sets the location. Calls read_node(node), which sets the value or adds an error, if the table has the key.
  template <class T, class Read>
  KeyDeclaration read_with(const std::string& key, Setting<T>& setting, RequestedKey::Form form, const Read& read_node,
                           const ParamSchema& schema = {}, const std::string& word = "");
  template <class T>
  KeyDeclaration read_as(const std::string& key, Setting<T>& setting, const ParamSchema& schema);

  const Node* table_;  // null: empty table
  SourceLocation place_;
  std::string path_;
  Diagnostics& diagnostics_;
  std::vector<RequestedKey>* requested_;  // null: no recording
  ResumePolicy on_resume_ = ResumePolicy::reported;
  std::vector<std::string> known_;
};

}  // namespace tenon::config
