// The checks that a component excepts, see tenon/draft/validation.h.
#pragma once

#include <string>

#include "framework/components/calls/component.h"

namespace tenon::validation {

// Throws Skipped with the reason if the component excepts the check.
void require_no_exception(const components::Component& component, const std::string& check);

// Throws Failed for a list that is damaged, an empty reason, or a check that cannot be excepted.
void check_exceptions(const components::Component& component);

}  // namespace tenon::validation
