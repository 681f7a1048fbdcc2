// A temporary folder that only this user can read and write. It is deleted with its files at the end of the scope.
#pragma once

#include <string>
#include <vector>

namespace exported {

class PrivateFolder {
 public:
  // In $TMPDIR, or /tmp. Throws tenon::DataError if it cannot be created.
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  // Returns the path. `name` has no slash. Throws tenon::DataError if the file cannot be written.
  std::string write(const std::string& name, const std::vector<char>& bytes) const;

 private:
  std::string path_;
};

}  // namespace exported
