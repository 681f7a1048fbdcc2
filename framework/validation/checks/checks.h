// The checks of the file and of each kind of component.
#pragma once

#include <vector>

#include "framework/validation/session/session.h"

namespace tenon::validation {

std::vector<Check> load_checks();
std::vector<Check> create_checks();
std::vector<Check> dataset_checks();
std::vector<Check> model_checks();
std::vector<Check> loss_checks();
std::vector<Check> metric_checks();
std::vector<Check> callback_checks();
std::vector<Check> transform_checks();
std::vector<Check> isolation_checks();
std::vector<Check> state_checks();

// Call every function of a component once or a few times, as a run would. Checks of side effects use them.
void use_dataset(Session& session);
void use_model(Session& session);
void use_loss(Session& session);
void use_metric(Session& session);
void use_callback(Session& session);
void use_transform(Session& session);

}  // namespace tenon::validation
