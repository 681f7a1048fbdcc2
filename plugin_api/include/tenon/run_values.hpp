// The values, settings and files of a run, for callbacks in C++ that log a run elsewhere:
//
//   void on_log(const tenon::Run& run) {
//     for (const tenon::RunValue& logged : tenon::read_values(run)) send(logged.name, run.step(), logged.value);
//   }
//
// run_values.h documents which event has which values. All functions throw Error(TENON_UNSUPPORTED) if the host is too
// old for this extension; has_run_values() checks that.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "callback.hpp"
#include "detail/extension.hpp"
#include "run_values.h"

namespace tenon {

struct RunValue {
  std::string name;
  double value;
};

struct RunDescription {
  std::string name;          // run.name
  std::string resumed_from;  // folder of the checkpoint that the run resumes from; empty if it does not resume
  bool is_temporary;         // whether the run folder is removed after the run
  int stop_signal;           // number of the signal that stopped the run; 0: none
};

inline bool has_run_values() { return detail::find_extension<tenon_run_values>(TENON_RUN_VALUES) != nullptr; }

namespace detail {
inline const tenon_run_values& run_values() { return require_extension<tenon_run_values>(TENON_RUN_VALUES); }
}  // namespace detail

// Returns the values that this event adds to the history, in the order of the history.
inline std::vector<RunValue> read_values(const Run& run) {
  const tenon_run_value* values = nullptr;
  uint64_t count = 0;
  detail::check(detail::run_values().values(run.get(), &values, &count));
  std::vector<RunValue> read;
  for (uint64_t i = 0; i < count; ++i) read.push_back({detail::copy(values[i].name), values[i].value});
  return read;
}

// Returns the keys and values of plan.toml: {"optimizer.lr", "0.001"}.
inline std::vector<std::pair<std::string, std::string>> read_settings(const Run& run) {
  const tenon_run_setting* settings = nullptr;
  uint64_t count = 0;
  detail::check(detail::run_values().settings(run.get(), &settings, &count));
  std::vector<std::pair<std::string, std::string>> read;
  for (uint64_t i = 0; i < count; ++i)
    read.emplace_back(detail::copy(settings[i].key), detail::copy(settings[i].value));
  return read;
}

inline RunDescription describe_run(const Run& run) {
  tenon_run_description description = {};
  description.size = sizeof description;
  detail::check(detail::run_values().describe(run.get(), &description));
  return {detail::copy(description.name), detail::copy(description.resumed_from),
          (description.flags & TENON_RUN_TEMPORARY) != 0, description.stop_signal};
}

// Returns the paths of the files in a run folder, relative to it.
inline std::vector<std::string> list_run_files(const std::string& folder) {
  struct List {
    std::vector<std::string> paths;
    bool is_complete = true;
  } list;
  const auto add = [](void* context, tenon_string path) {
    auto& into = *static_cast<List*>(context);
    try {
      into.paths.push_back(detail::copy(path));
    } catch (...) {
      into.is_complete = false;
    }
  };
  detail::check(detail::run_values().files(detail::borrow(folder), &list, add));
  if (!list.is_complete) throw Error("there is not enough memory for the list of the files in " + folder);
  return std::move(list.paths);
}

}  // namespace tenon
