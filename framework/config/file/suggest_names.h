// "Did you mean ...?" for keys of the run file and ids of components.
#pragma once

#include <string>
#include <vector>

#include "framework/config/toml/toml_tree.h"
#include "framework/config/values/component_schema.h"

namespace tenon::config {

// Suggests what an unknown key of a table may be, as "; did you mean ...?":
// - a key of another table: batch_size in [train] is data.batch_size;
// - a name that other trainers use: max_epochs is train.epochs;
// - the nearest key of the table;
// - a parameter of the component of the table: classes in [model] is model.params.classes.
// Otherwise returns the known keys. `path`: of the table, "" for the run file itself. `known`: the keys of the table.
std::string suggest_key(const std::string& path, const std::string& key, const std::vector<std::string>& known);

// Returns a key of the run file that a name without its table may mean: "lr" is "optimizer.lr", "epochs" is
// "train.epochs". "" if there is none, or several.
std::string find_key_of_other_table(const std::string& path, const std::string& key);

// Returns `; write model = { use = "mlp" }` for a value in place of a table, or "".
std::string suggest_table(const std::string& path, const Node& node);

// Suggests the component that an unknown id may mean, as "; did you mean ...?":
// - a name that other libraries use: the loss "mae" is "l1";
// - the nearest id: "f1" is "precision_recall_f1", "CrossEntropyLoss" is "cross_entropy";
// - the only component of the kind with the word in its description: "csv" is "table" if no other has the word.
// Otherwise returns the known ids.
std::string suggest_component(ComponentKind kind, const std::string& id, const SchemaSource& schemas);

}  // namespace tenon::config
