// Settings of this process that its functions share.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::support {

// "0022", read from /proc: umask() would change it for a moment, also for other threads. Empty if it cannot be read.
std::string read_umask();

std::filesystem::path read_working_folder();  // empty if it was removed

}  // namespace tenon::support
