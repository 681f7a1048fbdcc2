// Every call into a plugin goes through call_plugin. It records the running function in a breadcrumb, turns a status
// into an Error that names plugin, component and function, and catches exceptions that a plugin throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/abi.h>

#include "framework/components/calls/call_record.h"
#include "framework/components/calls/component.h"
#include "framework/components/calls/kept_settings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

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

// Throws Error(plugin): "COMPONENT, FUNCTION: WHAT".
[[noreturn]] void throw_plugin_error(const Component& component, const std::string& function, const std::string& what);
// WHAT is fmt::format(format, arguments...).
template <class Argument, class... More>
[[noreturn]] void throw_plugin_error(const Component& component, const std::string& function,
                                     fmt::format_string<Argument, More...> format, Argument&& argument,
                                     More&&... more) {
  throw_plugin_error(component, function,
                     fmt::format(format, std::forward<Argument>(argument), std::forward<More>(more)...));
}

// Throws Error(plugin) if a plugin's function has returned no list, but a count above 0 of `what`, such as "ports".
void require_list(const Component& component, const char* function, const void* list, uint64_t count, const char* what,
                  const std::string& expected);

// The error of a plugin function from which an exception escaped.
class EscapedException : public support::Error {
 public:
  explicit EscapedException(const std::string& message) : Error(support::ErrorKind::plugin, message) {}
};

// Sees the calls of its thread into plugins, except for those within another call. Only `host validate` has one.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // `what`: the position of the call, such as "sample 17"; may be empty.
  virtual void before_call(const char* function, const std::string& what) = 0;
  // `escaped`: the exception that the function threw, or null.
  virtual void after_call(const Component& component, const char* function, tenon_status status,
                          const std::exception_ptr& escaped) = 0;
  // Called for what the headers forbid and this host accepts.
  virtual void on_violation(const std::string& what) = 0;
};

namespace detail {
// A function of a plugin may call fork() and return in both processes. The new process has one thread and must not
// continue the work of the host. The opening of a plugin is such a function too.

// Whether fork() was called in a function of a plugin, in this process or in the one that it was forked from.
extern std::atomic<bool> has_forked;

// Throws Error(plugin) if a process that a function of a plugin had created with fork() has returned from the plugin.
// The first time that such a process neither returns nor calls exec() nor ends, this waits for it for a few seconds,
// then logs a warning. [any thread]
void check_forked_processes();

// Ends this process if a function of a plugin created it with fork(). Otherwise does check_forked_processes().
void check_forks(const Component& component, const char* function);

// Does the same after an initialiser or the entry function of a plugin's file has returned.
void check_forks_of_opening(const std::filesystem::path& file);

extern constinit thread_local CallRecord current;
extern constinit thread_local CallObserver* call_observer;
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
  CallObserver* const observer = before.component ? nullptr : detail::call_observer;
  if (observer) [[unlikely]]
    observer->before_call(function, what());
  detail::failure.clear();  // the text of an earlier, handled failure is not the reason of this one
  const detail::QuickSettings settings = detail::QuickSettings::read();
  tenon_status status = TENON_OK;
  std::exception_ptr escaped;
  try {
    status = body();
  } catch (...) {
    escaped = std::current_exception();
  }
  detail::current.set(before);
  if (observer) [[unlikely]]
    observer->after_call(component, function, status, escaped);
  if (settings != detail::QuickSettings::read()) [[unlikely]]
    detail::restore_quick_settings(component, function, settings);
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
