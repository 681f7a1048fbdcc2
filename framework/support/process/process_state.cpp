#include "framework/support/process/process_state.h"

#include <fstream>

namespace tenon::support {

std::string read_umask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Umask:")) return line.substr(line.find_first_of("01234567"));
  return "";
}

std::filesystem::path read_working_folder() {
  std::error_code failure;
  return std::filesystem::current_path(failure);
}

}  // namespace tenon::support
