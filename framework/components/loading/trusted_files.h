// The host's side of the extension TENON_TRUSTED_FILES: files with machine code that a plugin loads.
#pragma once

#include <tenon/trusted_files.h>

namespace tenon::components {

const tenon_trusted_files& trusted_files_extension();

}  // namespace tenon::components
