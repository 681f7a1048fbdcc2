// Collects the errors in a run file, so that the host shows all of them at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/support/text/format.h"

namespace tenon::config {

// The location of a value of the run, for messages.
struct SourceLocation {
  std::string source;  // the run file as the user named it, or "--set train.epochs"
  int line = 0;        // from 1; 0 for --set
  int column = 0;      // from 1, in characters; 0 for --set
};

std::string to_string(const SourceLocation& place);  // "configs/digits.toml:12:7", "--set train.epochs"

// Orders locations as in the file, followed by those of the command line.
bool operator<(const SourceLocation& left, const SourceLocation& right);

class Diagnostics {
 public:
  // `what` states what was found, what was expected and what to do.
  void add(const SourceLocation& place, std::string what) { entries_.emplace_back(place, std::move(what)); }
  // `what` is fmt::format(format, arguments...).
  template <class Argument, class... More>
  void add(const SourceLocation& place, fmt::format_string<Argument, More...> format, Argument&& argument,
           More&&... more) {
    add(place, fmt::format(format, std::forward<Argument>(argument), std::forward<More>(more)...));
  }

  // If there are errors, throws Error(configuration) with one line per error, ordered by location.
  void throw_if_any() const;

 private:
  std::vector<std::pair<SourceLocation, std::string>> entries_;
};

}  // namespace tenon::config
