#include "framework/components/calls/image_library.h"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <string>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/plugin_transforms.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/installation.h"

namespace tenon::components {
namespace {

constexpr const char* kFile = "lib/tenon/libtenon_images.so";

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

// Returns null, and sets `failure`.
void* open_library() {
  const std::filesystem::path file = support::find_installation().prefix / kFile;
  if (!support::path_exists(file)) {
    failure =
        support::format_path(file) +
        ": is missing, so images cannot be read; expected the image library of Tenon, which packages for machines "
        "without OpenCV leave out: install a package that has it, or build from source";
    return nullptr;
  }
  // The library is never closed, because OpenCV keeps state per thread and process.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    failure = "the image library cannot be opened: " + std::string(dlerror()) +
              "; expected OpenCV 4 with core, imgproc and imgcodecs: install the version that this Tenon was built "
              "with";
  return library;
}

template <class Function>
Function find_function(const char* name) {
  void* const library = open_library();
  void* const symbol = library ? dlsym(library, name) : nullptr;
  if (library && !symbol)
    failure = std::string("the image library lacks ") + name + "; expected that of this host: install Tenon again";
  return reinterpret_cast<Function>(symbol);
}

const tenon_images* open(const tenon_host& host) {
  const auto open_images = find_function<images::OpenImages>(images::kOpenImages);
  return open_images ? open_images(&host, &plugin_transforms()) : &kMissing;
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

std::vector<BundledTransform> describe_image_transforms() {
  const auto describe = find_function<images::DescribeTransforms>(images::kDescribeTransforms);
  if (!describe) throw support::Error(support::ErrorKind::configuration, failure);
  std::vector<BundledTransform> transforms;
  describe(&transforms, [](void* context, const images::DescribedTransform* transform) {
    BundledTransform& added = static_cast<std::vector<BundledTransform>*>(context)->emplace_back();
    added = {to_string(transform->name), to_string(transform->doc), to_string(transform->source), {}};
    for (uint64_t i = 0; i < transform->argument_count; ++i) {
      const images::DescribedArgument& argument = transform->arguments[i];
      added.arguments.push_back({to_string(argument.name), to_string(argument.values),
                                 to_string(argument.default_value), to_string(argument.doc)});
    }
  });
  return transforms;
}

}  // namespace tenon::components
