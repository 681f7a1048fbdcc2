// A name for what a plugin logs.
#pragma once

#include <string>

namespace tenon::components {

// While it lives, lines that a plugin logs on this thread start with the name, such as that of a dataset: several
// datasets of a run may be of one plugin.
class LogName {
 public:
  explicit LogName(const std::string& name);  // must outlive this
  ~LogName();
  LogName(const LogName&) = delete;
  LogName& operator=(const LogName&) = delete;

 private:
  const std::string* before_;
};

}  // namespace tenon::components
