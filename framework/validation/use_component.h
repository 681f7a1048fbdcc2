// Every function of a component once or a few times, as a run would call them: for checks that watch what happens
// besides.
#pragma once

#include "framework/validation/session.h"

namespace tenon::validation {

void use_dataset(Session& session);
void use_model(Session& session);
void use_loss(Session& session);
void use_metric(Session& session);
void use_callback(Session& session);

// Of the session's kind. What a function fails at is the business of other checks.
void use_component(Session& session);

}  // namespace tenon::validation
