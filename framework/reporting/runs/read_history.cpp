#include "framework/reporting/runs/read_history.h"

#include <stdexcept>
#include <string>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/read_file.h"

namespace tenon::reporting {

std::vector<artifacts::HistoryLine> read_history(const std::filesystem::path& file) {
  support::FileStream stream(file, {support::ErrorKind::checkpoint, "a run's history"});
  std::vector<artifacts::HistoryLine> lines;
  for (std::string line; std::getline(stream, line);) {
    try {
      lines.push_back(artifacts::parse_history_line(line));
    } catch (const std::invalid_argument& error) {
      throw support::Error(support::ErrorKind::checkpoint, file.string() + ": line " +
                                                               std::to_string(lines.size() + 1) + ": " + error.what() +
                                                               "; expected a line of a run's history");
    }
  }
  if (lines.empty())
    throw support::Error(support::ErrorKind::checkpoint, file.string() + ": has no line; expected a run's history");
  return lines;
}

}  // namespace tenon::reporting
