// "Did you mean ...?" for ids of components.
#pragma once

#include <string>

#include "framework/config/values/component_schema.h"

namespace tenon::config {

// Suggests the component that an unknown id may mean, as "; did you mean ...?":
// - a name that other libraries use: the loss "mae" is "l1";
// - the nearest id: "f1" is "precision_recall_f1", "CrossEntropyLoss" is "cross_entropy";
// - the only component of the kind with the word in its description: "mnist" is "idx".
// Otherwise returns the known ids.
std::string suggest_component(ComponentKind kind, const std::string& id, const SchemaSource& schemas);

}  // namespace tenon::config
