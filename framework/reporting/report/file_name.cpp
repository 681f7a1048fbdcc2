#include "framework/reporting/report/file_name.h"

#include <cctype>

namespace tenon::reporting {

std::string make_file_name(std::string_view name) {
  std::string file;
  for (const char letter : name)
    file += std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' || letter == '.' ? letter : '_';
  return file;
}

}  // namespace tenon::reporting
