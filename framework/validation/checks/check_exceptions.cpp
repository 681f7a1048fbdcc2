#include "framework/validation/checks/check_exceptions.h"

#include <algorithm>
#include <vector>

#include <tenon/draft/validation.h>

#include "framework/components/kinds/instance.h"
#include "framework/formats/strings.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

namespace {

// The checks that hold for most components but not for all.
const std::vector<std::string> kExceptional{"adds-up", "class-numbers", "sample-by-sample", "starts-no-threads"};

bool can_be_excepted(const std::string& check) { return std::ranges::find(kExceptional, check) != kExceptional.end(); }

struct CheckException {
  std::string check;
  std::string reason;
};

CheckException read_exception(const tenon_exception* exception) {
  if (!exception || exception->size < TENON_SIZE_TO(tenon_exception, reason))
    throw Failed("validation.exceptions returns an exception that is null or cut short");
  CheckException read{components::to_string(exception->check), components::to_string(exception->reason)};
  if (!can_be_excepted(read.check))
    throw Failed("an exception to the check \"{}\" is not possible; expected one of {}", read.check,
                 formats::join(kExceptional));
  if (read.reason.empty()) throw Failed("the exception to the check {} has no reason", read.check);
  return read;
}

std::vector<CheckException> read_exceptions(const components::Component& component) {
  const auto* const table = components::extension_of<tenon_validation>(component, TENON_VALIDATION);
  if (!table || !table->exceptions) return {};
  const tenon_exception* const* list = nullptr;
  uint64_t count = 0;
  components::call_plugin(component, "validation.exceptions", [&] { return table->exceptions(&list, &count); });
  const components::ResultScope scope(component, "validation.exceptions, reading its result");
  components::require_list(component, "validation.exceptions", list, count, "exceptions", "a list, or 0 exceptions");
  std::vector<CheckException> exceptions;
  for (uint64_t i = 0; i < count; ++i) exceptions.push_back(read_exception(list[i]));
  return exceptions;
}

}  // namespace

void require_no_exception(const components::Component& component, const std::string& check) {
  if (!can_be_excepted(check)) return;
  for (const CheckException& exception : read_exceptions(component))
    if (exception.check == check) throw Skipped("the plugin declares an exception: " + exception.reason);
}

void check_exceptions(const components::Component& component) { read_exceptions(component); }

}  // namespace tenon::validation
