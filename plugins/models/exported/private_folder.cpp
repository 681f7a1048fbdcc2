#include "plugins/models/exported/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <tenon/error.hpp>

namespace exported {

PrivateFolder::PrivateFolder() {
  const char* const parent = std::getenv("TMPDIR");
  path_ = std::string(parent && *parent ? parent : "/tmp") + "/tenon_compiled_XXXXXX";
  if (!mkdtemp(path_.data()))  // with mode 0700
    throw tenon::DataError(path_ + ": cannot be created: " + std::strerror(errno) +
                           "; set TMPDIR to a folder that you can write");
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string PrivateFolder::write(const std::string& name, const std::vector<char>& bytes) const {
  const std::string path = path_ + "/" + name;
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) throw tenon::DataError(path + ": cannot be written: " + std::strerror(errno));
  return path;
}

}  // namespace exported
