#include "framework/config/file/copy_training_data.h"

#include <string>
#include <vector>

namespace tenon::config {

namespace {

const std::string kLike = "like";
Node::Table* find_table(Node::Table* root, const std::string& name) {
  if (!root) return nullptr;
  const auto found = root->find(name);
  return found == root->end() ? nullptr : found->second.as_table();
}

// Values that the table has stay.
void add_missing(Node::Table& table, const Node::Table& from, const std::string& key) {
  if (const auto found = from.find(key); found != from.end()) table.emplace(key, found->second);
}

// A dataset that `like` may name.
struct Source {
  std::string name;          // "train"
  const Node::Table* table;  // null: the file has no such dataset
};

// `"train" or "validation", for the parameters of that dataset`.
std::string list_sources(const std::vector<Source>& sources) {
  std::string list;
  for (const Source& source : sources) list += (list.empty() ? "\"" : " or \"") + source.name + "\"";
  return list + ", for the parameters of " + (sources.size() == 1 ? "[data." + sources[0].name + "]" : "that dataset");
}

void complete(Node::Table& dataset, const std::vector<Source>& sources, const std::string& path,
              Diagnostics& diagnostics) {
  const auto like = dataset.find(kLike);
  if (like == dataset.end()) return;
  const std::string* const name = like->second.as_string();
  const Node::Table* table = nullptr;
  for (const Source& source : sources)
    if (name && *name == source.name) table = source.table;
  if (!table) {
    diagnostics.add(like->second.place,
                    path + ".like is " + describe(like->second) + "; expected " + list_sources(sources));
    return;
  }
  const std::string from = *name;
  const Node place = like->second;
  dataset.erase(like);
  add_missing(dataset, *table, "use");
  const auto use = dataset.find("use");
  const auto other = table->find("use");
  const bool is_same = use != dataset.end() && other != table->end() && use->second.as_string() &&
                       other->second.as_string() && *use->second.as_string() == *other->second.as_string();
  if (use != dataset.end() && other != table->end() && !is_same) {
    diagnostics.add(place.place, path + ".like is \"" + from + "\", but " + path + ".use is " + describe(use->second) +
                                     " and data." + from + ".use is " + describe(other->second) +
                                     "; expected the same component: remove like, or use");
    return;
  }
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

void copy_training_data(Node& document, Diagnostics& diagnostics) {
  Node::Table* const data = find_table(document.as_table(), "data");
  const Source train{kTrain, find_table(data, kTrain)};
  complete_all(data, kValidation, {train}, diagnostics);
  // Several named validation datasets have no parameters in common.
  const Node::Table* validation = find_table(data, kValidation);
  if (validation && !validation->contains("use")) validation = nullptr;
  complete_all(data, kTest, {train, {kValidation, validation}}, diagnostics);
}

}  // namespace tenon::config
