#include "framework/components/loading/trusted_files.h"

#include <exception>
#include <string>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/loading/write_permission.h"

namespace tenon::components {

namespace {

tenon_status check(tenon_string path) {
  try {
    require_no_other_writer(to_string(path));
    return TENON_OK;
  } catch (const std::exception& error) {
    return fail(TENON_INVALID_ARGUMENT, error.what());
  }
}

constexpr tenon_trusted_files kTrustedFiles{sizeof(tenon_trusted_files), check};

}  // namespace

const tenon_trusted_files& trusted_files_extension() { return kTrustedFiles; }

}  // namespace tenon::components
