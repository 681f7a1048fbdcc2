// Processes in which the stand-in reports faults, or has other settings. Reports in the test's process fail the test.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace tenon::standin::tests {

struct Outcome {
  int exit_code;       // 128 and the signal's number if a signal ended the process
  std::string output;  // standard output and errors
};

struct Child {
  int process;
  int output;
};

// Starts a copy of this process that calls the function and ends.
Child start_child(const std::function<void()>& function);
Outcome wait_for_child(const Child& child);
Outcome run_child(const std::function<void()>& function);

using Settings = std::map<std::string, std::string>;

// Starts a test case of this program that is marked with doctest::skip(), with environment variables.
Child start_case(const std::string& name, const Settings& settings);

// Runs such a test case, which must succeed. Returns its output.
std::string run_case(const std::string& name, const Settings& settings);

}  // namespace tenon::standin::tests
