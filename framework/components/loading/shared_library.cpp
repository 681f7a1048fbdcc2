#include "framework/components/loading/shared_library.h"

#include <dlfcn.h>

#include <boost/dll/shared_library.hpp>
#include <exception>

#include "framework/components/loading/plugin_code.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

using support::Error;
using support::ErrorKind;

void* open_symbol(const std::filesystem::path& file, const char* symbol) {
  // Boost.DLL has no name for RTLD_NODELETE. Its load modes are the loader's flags.
  const auto mode = static_cast<boost::dll::load_mode::type>(boost::dll::load_mode::rtld_now |
                                                             boost::dll::load_mode::rtld_local | RTLD_NODELETE);
  boost::dll::fs::error_code failure;
  boost::dll::shared_library library;
  dlerror();
  try {
    library.load(boost::dll::fs::path(file.string()), mode, failure);
  } catch (const std::exception& error) {
    // The initialisers of the file threw. The loader keeps its lock, so the process must end.
    throw Error(ErrorKind::plugin, file.string() + ": threw an exception while it was opened: " + error.what() +
                                       "; initialisers of statics must not throw");
  }
  if (failure) {
    const char* words = dlerror();
    throw Error(ErrorKind::plugin, file.string() +
                                       ": cannot be loaded: " + (words ? words : failure.message().c_str()) +
                                       "; expected a shared library for this machine with all its dependencies");
  }
  if (!library.has(symbol)) throw_without_symbol(file, symbol);
  void* const address = reinterpret_cast<void*>(library.get<void()>(symbol));
  record_plugin_code(file, address);
  return address;
}

void throw_without_symbol(const std::filesystem::path& file, const std::string& symbol) {
  throw Error(ErrorKind::plugin, file.string() + ": has no symbol " + symbol +
                                     "; expected a Tenon plugin: build it with tenon_add_plugin() and TENON_PLUGIN, or "
                                     "move the file out of the plugin directory");
}

}  // namespace tenon::components
