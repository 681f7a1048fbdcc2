// Writes declared keys to plan.toml.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "framework/config/file/keys.h"
#include "framework/config/file/plan_writer.h"

namespace tenon::config {

class WriteKeys : public Keys<WriteKeys> {
 public:
  explicit WriteKeys(PlanWriter& writer) : writer_(writer) {}

  template <class T>
  bool visit(const char* name, const T& value, const KeyRules& rules) {
    if (rules.is_written) write(name, value);
    return false;
  }

 private:
  void write(const char* name, const Value& value) { writer_.key(name, value); }
  void write(const char* name, const Period& value) { writer_.key(name, to_string(value)); }
  void write(const char* name, const Subset& value) { writer_.key(name, to_string(value)); }
  void write(const char* name, const DeviceChoice& value) { writer_.key(name, to_string(value)); }
  void write(const char* name, const ScheduleLength& value) { writer_.key(name, to_value(value)); }
  void write(const char* name, const std::vector<ScheduleLength>& value) { writer_.list(name, value); }
  template <size_t N>
  void write(const char* name, const std::array<double, N>& value) {
    writer_.key(name, std::vector<double>(value.begin(), value.end()));
  }
  void write(const char* name, const NamedChoice& value) {
    const std::string& text = value.names[value.index];
    writer_.key(name, text == "true" || text == "false" ? Value(text == "true") : Value(text));
  }

  PlanWriter& writer_;
};

// Writes the keys of a section.
template <class Section>
void write_keys(PlanWriter& writer, Section section) {
  WriteKeys keys(writer);
  declare(keys, section);
}

}  // namespace tenon::config
