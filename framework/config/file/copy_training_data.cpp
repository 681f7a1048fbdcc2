#include "framework/config/file/copy_training_data.h"

#include <string>

namespace tenon::config {

namespace {

const std::string kLike = "like";
const std::string kTrain = "train";

Node::Table* find_table(Node::Table* root, const std::string& name) {
  if (!root) return nullptr;
  const auto found = root->find(name);
  return found == root->end() ? nullptr : found->second.as_table();
}

// Values that the table has stay.
void add_missing(Node::Table& table, const Node::Table& from, const std::string& key) {
  if (const auto found = from.find(key); found != from.end()) table.emplace(key, found->second);
}

void complete(Node::Table& dataset, const Node::Table* train, const std::string& path, Diagnostics& diagnostics) {
  const auto like = dataset.find(kLike);
  if (like == dataset.end()) return;
  const std::string* const name = like->second.as_string();
  if (!name || *name != kTrain || !train) {
    diagnostics.add(like->second.place, path + ".like is " + describe(like->second) +
                                            "; expected \"train\", for the parameters of [data.train]");
    return;
  }
  const Node place = like->second;
  dataset.erase(like);
  add_missing(dataset, *train, "use");
  const auto use = dataset.find("use");
  const auto of_train = train->find("use");
  const bool is_same = use != dataset.end() && of_train != train->end() && use->second.as_string() &&
                       of_train->second.as_string() && *use->second.as_string() == *of_train->second.as_string();
  if (use != dataset.end() && of_train != train->end() && !is_same) {
    diagnostics.add(place.place, path + ".like is \"train\", but " + path + ".use is " + describe(use->second) +
                                     " and data.train.use is " + describe(of_train->second) +
                                     "; expected the same component: remove like, or use");
    return;
  }
  const auto params = train->find("params");
  if (params == train->end() || !params->second.as_table()) return;
  const auto [given, is_new] = dataset.emplace("params", params->second);
  Node::Table* const table = given->second.as_table();
  if (is_new || !table) return;
  for (const auto& [parameter, value] : *params->second.as_table()) table->emplace(parameter, value);
}

}  // namespace

void copy_training_data(Node& document, Diagnostics& diagnostics) {
  Node::Table* const data = find_table(document.as_table(), "data");
  Node::Table* const validation = find_table(data, "validation");
  if (!validation) return;
  const Node::Table* const train = find_table(data, kTrain);
  complete(*validation, train, "data.validation", diagnostics);
  for (auto& [name, dataset] : *validation)
    if (Node::Table* const table = dataset.as_table(); table && name != "params")
      complete(*table, train, "data.validation." + name, diagnostics);
}

}  // namespace tenon::config
