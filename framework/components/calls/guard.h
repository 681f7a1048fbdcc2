// Every call into a plugin goes through call_plugin. It records the running function in a breadcrumb, turns a status
// into an Error that names plugin, component and function, and catches exceptions that a plugin throws.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

#include <tenon/abi.h>

#include "framework/components/calls/call_record.h"
#include "framework/components/calls/component.h"
#include "framework/components/calls/forked_process.h"

namespace tenon::components {

// The plugin function that this thread is in.
Breadcrumb breadcrumb() noexcept;

// Marks a scope in which the host reads a plugin's result. Lists may be shorter than their count, and the report of a
// crash must name the plugin.
class ResultScope {
 public:
  // `what`: a literal, "fields, reading its result".
  ResultScope(const Component& component, const char* what);
  explicit ResultScope(const char* file);  // the file of a plugin that is being opened; must outlive this
  ~ResultScope();
  ResultScope(const ResultScope&) = delete;
  ResultScope& operator=(const ResultScope&) = delete;

 private:
  const Breadcrumb before_;
};

namespace detail {
extern constinit thread_local CallRecord current;
extern thread_local std::string failure;  // the text of the last host->fail on this thread

// `what`: the caller's context, such as "sample 17"; may be empty.
[[noreturn]] void throw_failed(const Component& component, const char* function, tenon_status status,
                               std::string_view what);
[[noreturn]] void throw_escaped(const Component& component, const char* function, std::exception_ptr escaped,
                                std::string_view what);
}  // namespace detail

// Calls `body`, which returns a tenon_status, as `function` of the component. Throws Error(plugin), or Error(data) for
// TENON_BAD_DATA. `what()` returns the position and is called only if the call failed. A crash report also shows an At.
template <class Body, class What>
void call_plugin(const Component& component, const char* function, Body&& body, What&& what) {
  const Breadcrumb before = detail::current.get();
  At at;
  if constexpr (std::is_convertible_v<What, At>) at = what;
  detail::current.set({&component, function, at, nullptr});
  detail::failure.clear();  // the text of an earlier, handled failure is not the reason of this one
  tenon_status status = TENON_OK;
  std::exception_ptr escaped;
  try {
    status = body();
  } catch (...) {
    escaped = std::current_exception();
  }
  detail::current.set(before);
  if (detail::has_forked.load(std::memory_order_relaxed)) [[unlikely]]
    detail::check_forks(component, function);
  if (escaped) detail::throw_escaped(component, function, escaped, what());
  if (status != TENON_OK) detail::throw_failed(component, function, status, what());
}

template <class Body>
void call_plugin(const Component& component, const char* function, Body&& body) {
  call_plugin(component, function, body, At{});
}

}  // namespace tenon::components
