// Calls every function of a component once or a few times, as a run would. Checks of side effects use it.
#pragma once

#include "framework/validation/session/session.h"

namespace tenon::validation {

void use_dataset(Session& session);
void use_model(Session& session);
void use_loss(Session& session);
void use_metric(Session& session);
void use_callback(Session& session);

// Calls the function for the session's kind of component. Ignores errors of the plugin, which other checks report.
void use_component(Session& session);

}  // namespace tenon::validation
