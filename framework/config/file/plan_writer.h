// Writes the tables and keys of a plan as text.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/file/expand_variables.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::config {

class PlanWriter {
 public:
  void table(const std::string& name) { text_ += "\n[" + name + "]\n"; }
  void list_table(const std::string& name) { text_ += "\n[[" + name + "]]\n"; }
  void key(const std::string& name, const Value& value) { text_ += name + " = " + print(value) + "\n"; }

  void list(const std::string& name, const std::vector<ScheduleLength>& lengths) {
    std::string inside;
    for (const ScheduleLength& length : lengths) inside += (inside.empty() ? "" : ", ") + to_toml(to_value(length));
    text_ += name + " = [" + inside + "]\n";
  }

  // Writes `params = { width = 32 }`. Writes nothing if there are no entries.
  template <class T>
  void inline_table(const std::string& name, const std::map<std::string, T>& entries) {
    std::string inside;
    for (const auto& [entry, value] : entries) {
      inside += (inside.empty() ? " " : ", ") + to_toml_key(entry) + " = " + print(value);
    }
    if (!inside.empty()) text_ += name + " = {" + inside + " }\n";
  }

  void component(const ComponentPlan& plan) {
    key("use", plan.use);
    inline_table("params", plan.params);
    inline_table("inputs", plan.inputs);
  }

  std::string take() { return std::move(text_); }

 private:
  // A plan that is read again must not replace variables a second time.
  static std::string print(const Value& value) { return escape_variables(to_toml(value)); }

  std::string text_ = "# The complete plan of a run, with all defaults written out. It can be run again unchanged.\n";
};

}  // namespace tenon::config
