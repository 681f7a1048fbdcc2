// The archives of the tests, and changed copies of them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "framework/components/kinds/model.h"

namespace tenon::exported {

// The folder of archives that tests/parity/make_exported.py wrote.
std::filesystem::path archive_folder();
std::filesystem::path archive_path(const std::string& name);

// Opens an archive with the component `exported`, and builds it.
components::Model open_archive(const std::filesystem::path& path, const config::Values& params = {});

// The records of an archive by their names.
using Records = std::map<std::string, std::string>;
Records read_records(const std::filesystem::path& path);
// Writes the records as an archive in the folder of the test case, and returns its path.
std::filesystem::path write_records(const Records& records, const std::string& name);

}  // namespace tenon::exported
