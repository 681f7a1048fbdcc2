// The source location of a value of the run, for messages.
#pragma once

#include <string>

namespace tenon::config {

struct SourceLocation {
  std::string source;  // the run file as the user named it, or "--set train.epochs"
  int line = 0;        // from 1; 0 for --set
  int column = 0;      // from 1, in characters; 0 for --set
};

std::string to_string(const SourceLocation& place);  // "configs/digits.toml:12:7", "--set train.epochs"

// Orders locations as in the file, followed by those of the command line.
bool operator<(const SourceLocation& left, const SourceLocation& right);

}  // namespace tenon::config
