#include "framework/components/loading/shared_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/dll/shared_library.hpp>
#include <exception>
#include <mutex>
#include <string>

#include "framework/support/diagnostics/error.h"

namespace tenon::components {
namespace {

using support::Error;
using support::ErrorKind;

// A signal handler reads the table, so it never moves. An entry is written before it is counted.
constexpr size_t kMostPluginCodes = 256;
constinit std::array<PluginCode, kMostPluginCodes> recorded_codes{};
constinit std::atomic<size_t> plugin_code_count{0};
static_assert(std::atomic<size_t>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

struct ImageRange {
  uintptr_t symbol;
  uintptr_t begin = 0, end = 0;
};

// For dl_iterate_phdr.
int find_image(dl_phdr_info* image, size_t, void* result) {
  auto& range = *static_cast<ImageRange*>(result);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < image->dlpi_phnum; ++i) {
    const auto& segment = image->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min<uintptr_t>(begin, image->dlpi_addr + segment.p_vaddr);
    end = std::max<uintptr_t>(end, image->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  if (range.symbol < begin || range.symbol >= end) return 0;
  range.begin = begin;
  range.end = end;
  return 1;
}

// Further plugins than kMostPluginCodes are not recorded. [any thread]
void record_plugin_code(const std::filesystem::path& file, const void* symbol) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const size_t count = plugin_code_count.load(std::memory_order_relaxed);
  ImageRange range{reinterpret_cast<uintptr_t>(symbol)};
  if (count == kMostPluginCodes || find_plugin_code(range.symbol)) return;
  if (dl_iterate_phdr(find_image, &range) == 0) return;
  struct stat opened {};
  if (::stat(file.c_str(), &opened) != 0) return;
  recorded_codes[count] = {(new std::string(file))->c_str(),
                           range.begin,
                           range.end,
                           opened.st_dev,
                           opened.st_ino,
                           opened.st_size,
                           opened.st_mtim};
  plugin_code_count.store(count + 1, std::memory_order_release);
}

}  // namespace

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
    throw Error(ErrorKind::plugin,
                "{}: cannot be loaded: {}; expected a shared library for this machine with all its dependencies",
                file.string(), words ? words : failure.message());
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

bool PluginCode::is_changed() const noexcept {
  struct stat now {};
  if (::stat(file, &now) != 0 || now.st_dev != device || now.st_ino != inode) return false;
  return now.st_size != bytes || now.st_mtim.tv_sec != modified.tv_sec || now.st_mtim.tv_nsec != modified.tv_nsec;
}

std::span<const PluginCode> plugin_codes() noexcept {
  return {recorded_codes.data(), plugin_code_count.load(std::memory_order_acquire)};
}

const PluginCode* find_plugin_code(uintptr_t address) noexcept {
  for (const PluginCode& code : plugin_codes())
    if (address >= code.begin && address < code.end) return &code;
  return nullptr;
}

}  // namespace tenon::components
