// Reads the keys of one table into settings, each with its type and range, and notices what nobody asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/config/component_schema.h"
#include "framework/config/mistakes.h"
#include "framework/config/run_config.h"
#include "framework/config/toml_tree.h"

namespace tenon::config {

// A key that a reader was asked for, whether the file has it or not.
struct AskedKey {
  enum class Form {
    value,
    value_or_word,  // such as "auto"
    period,
    subset,
    device,
    digest,
    table,
    tables,  // [[key]]
    rest     // whatever else the table has, which the component's or the optimizer's schema knows
  };
  std::string path;  // "train.epochs", "loss[].weight"; "*" where any name stands
  Form form;
  ParamSchema schema;  // of value and value_or_word
  std::string word;    // of value_or_word
};

// Wrong values and unknown keys go to the mistakes; the setting is then unset. Every key that is asked for is a known
// one, so ask for all of them before reject_unknown_keys().
class TableReader {
 public:
  // REQUIRES: the node is a table.
  TableReader(const Node& table, std::string path, Mistakes& mistakes);
  // Of a file that has every table once, all of them empty: notes what it is asked for. What is asked only of tables
  // with certain keys is asked of these too, by has() and keys().
  TableReader(std::vector<AskedKey>& asked, Mistakes& mistakes);

  // `range` is an interval, see parse_interval.
  void read(const std::string& key, Setting<bool>& setting);
  void read(const std::string& key, Setting<int64_t>& setting, const char* range);
  void read(const std::string& key, Setting<double>& setting, const char* range);
  void read(const std::string& key, Setting<std::string>& setting);
  void read(const std::string& key, Setting<std::vector<std::string>>& setting);
  // One of the choices.
  void read(const std::string& key, Setting<std::string>& setting, const std::vector<std::string>& choices);
  void read(const std::string& key, Setting<Period>& setting);
  void read(const std::string& key, Setting<Subset>& setting);
  void read(const std::string& key, Setting<DeviceChoice>& setting);
  // An integer in `range`, or "auto", which stands for `automatic`.
  void read_or_auto(const std::string& key, Setting<int64_t>& setting, const char* range, int64_t automatic);
  // A boolean, or the word; kept as "true", "false" or the word.
  void read_flag_or(const std::string& key, Setting<std::string>& setting, const std::string& word);
  // The key is a file's name, the value its SHA-256 in 64 hexadecimal digits, kept in lower case.
  void read_digest(const std::string& key, Setting<std::string>& setting);

  // The table of this key; an empty one, at this table's place, if there is none.
  TableReader table(const std::string& key);

  // The tables written [[key]].
  std::vector<TableReader> tables(const std::string& key);

  // The keys that nobody asked for yet, now known. Their values are for the caller to judge.
  Node::Table take_rest();

  void reject_unknown_keys() const;

  bool has(const std::string& key) const { return asked_ != nullptr || entries().count(key) > 0; }
  bool has_table(const std::string& key) const {
    return has(key) && (asked_ != nullptr || entries().at(key).as_table() != nullptr);
  }
  std::vector<std::string> keys() const;  // in the order of the file
  const std::string& path() const { return path_; }
  const Place& place() const { return place_; }

 private:
  TableReader(const Node* table, const Place& place, std::string path, Mistakes& mistakes,
              std::vector<AskedKey>* asked = nullptr);

  void note(const std::string& key, AskedKey::Form form, const ParamSchema& schema = {}, const std::string& word = "");
  const Node::Table& entries() const;
  const Node* find(const std::string& key);
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  void add_mismatch(const std::string& key, const Node& node, const std::string& expected);
  template <class T>
  void read_as(const std::string& key, Setting<T>& setting, const ParamSchema& schema);

  const Node* table_;  // null: an empty one
  Place place_;
  std::string path_;
  Mistakes& mistakes_;
  std::vector<AskedKey>* asked_;  // null: nobody wants to know
  std::vector<std::string> known_;
};

}  // namespace tenon::config
