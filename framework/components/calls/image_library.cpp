#include "framework/components/calls/image_library.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <string>

#include "framework/components/calls/host_table.h"
#include "framework/support/files/files.h"
#include "framework/support/files/installation.h"

namespace tenon::components {
namespace {

constexpr const char* kFile = "lib/tenon/libtenon_images.so";
constexpr const char* kSymbol = "tenon_open_images";

std::string failure;  // why the library cannot be opened

tenon_status refuse(const tenon_params*, tenon_string, tenon_image_pipeline**) {
  return fail(TENON_UNSUPPORTED, failure);
}

// Without a pipeline, no other function can be called.
constexpr tenon_images kMissing = [] {
  tenon_images table{};
  table.size = sizeof table;
  table.create = refuse;
  return table;
}();

const tenon_images* open(const tenon_host& host) {
  const std::filesystem::path file = support::find_installation().prefix / kFile;
  if (!support::path_exists(file)) {
    failure =
        support::format_path(file) +
        ": is missing, so images cannot be read; expected the image library of Tenon, which packages for machines "
        "without OpenCV leave out: install a package that has it, or build from source";
    return &kMissing;
  }
  // The library is never closed, because OpenCV keeps state per thread and process.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* const symbol = library ? dlsym(library, kSymbol) : nullptr;
  if (symbol) return reinterpret_cast<const tenon_images* (*)(const tenon_host*)>(symbol)(&host);
  failure = "the image library cannot be opened: " + std::string(dlerror()) +
            "; expected OpenCV 4 with core, imgproc and imgcodecs: install the version that this Tenon was built with";
  return &kMissing;
}

// No exception leaves the function of the host that a plugin calls.
const tenon_images* try_open(const tenon_host& host) noexcept {
  try {
    return open(host);
  } catch (const std::exception& error) {
    failure = error.what();
    return &kMissing;
  }
}

}  // namespace

const tenon_images& open_image_library(const tenon_host& host) {
  static const tenon_images* const table = try_open(host);
  return *table;
}

}  // namespace tenon::components
