#include "host/program/engine.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "host/program/process_start.h"

namespace tenon::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* kEngines = "lib/tenon";
constexpr const char* kEngine = "engine-";           // and the minor version of LibTorch
constexpr const char* kBuildTree = "libtorch.path";  // next to the engine of a build tree: its LibTorch

// From the folder of the program to the packages of Python: a virtual environment, Debian's Python, and pip install
// --target.
constexpr const char* kPackages[] = {"../lib/python3", "../lib64/python3", "../local/lib/python3"};

[[noreturn]] void refuse(const std::string& text) { throw std::runtime_error(text); }

// The first line of a file that begins with `start`, without `start`.
std::string read_line(const fs::path& file, const std::string& start) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(start)) return line.substr(start.size());
  return {};
}

// The text in the first quotes: ` = '2.15.0+cu130'`.
std::string unquote(const std::string& text) {
  const size_t begin = text.find_first_of("'\"");
  return begin == text.npos ? "" : text.substr(begin + 1, text.find(text[begin], begin + 1) - begin - 1);
}

// The entries of `folder` with names that begin with `start`.
std::vector<fs::path> list(const fs::path& folder, const std::string& start) {
  std::vector<fs::path> found;
  std::error_code ignored;  // what cannot be read has no engine
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (entry->path().filename().string().starts_with(start)) found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

// "2.9" is before "2.11".
bool is_older(const std::string& one, const std::string& other) {
  const auto numbers = [](const std::string& version) {
    const size_t dot = version.find('.');
    return std::pair(std::atoi(version.c_str()), dot == version.npos ? 0 : std::atoi(version.c_str() + dot + 1));
  };
  return numbers(one) < numbers(other);
}

// The minor versions of LibTorch that the installation has engines for.
std::vector<std::string> list_engines(const fs::path& prefix) {
  std::vector<std::string> versions;
  for (const fs::path& folder : list(prefix / kEngines, kEngine))
    versions.push_back(folder.filename().string().substr(std::char_traits<char>::length(kEngine)));
  std::sort(versions.begin(), versions.end(), is_older);
  return versions;
}

fs::path folder_of(const fs::path& prefix, const std::string& minor) { return prefix / kEngines / (kEngine + minor); }

bool has_libtorch(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "lib/libtorch_cpu.so", ignored);
}

// The full version stands in version.py of the Python package, and in build-version of an archive. A LibTorch that was
// built from source has the release in a header.
std::string read_version(const fs::path& folder) {
  std::string version = unquote(read_line(folder / "version.py", "__version__"));
  if (version.empty()) version = read_line(folder / "build-version", "");
  if (version.empty())
    for (const char* part : {"MAJOR ", "MINOR ", "PATCH "}) {
      const fs::path header = folder / "include/torch/headeronly/version.h";
      const std::string number = read_line(header, std::string("#define TORCH_VERSION_") + part);
      if (!number.empty()) version += (version.empty() ? "" : ".") + number;
    }
  if (version.empty())
    refuse(folder.string() +
           ": the version of this LibTorch is unknown; expected it in version.py, build-version or "
           "include/torch/headeronly/version.h: install LibTorch again, or set TENON_LIBTORCH to another");
  return version;
}

// "2.15" of "2.15.0+cu130".
std::string minor_of(const std::string& version) {
  const size_t dot = version.find('.');
  return version.substr(0, dot == version.npos ? dot : version.find_first_not_of("0123456789", dot + 1));
}

// How to get a LibTorch that fits. `is_given`: the setting is set.
std::string print_advice(const fs::path& prefix, const std::vector<std::string>& engines, const std::string& setting,
                         bool is_given) {
  const std::string other =
      "set " + setting + " to the folder of the Python package torch, or of an unpacked LibTorch, of such a version";
  if (is_given) return "unset " + setting + ", or " + other;
  if (prefix.filename() == "tenon_host")
    return "run `pip install 'torch==" + engines.back() + ".*'` in the Python environment of tenon-host, or " + other;
  if (std::error_code ignored; fs::exists(folder_of(prefix, engines.back()) / kBuildTree, ignored))
    return "run scripts/dependencies, or " + other;
  return other;
}

fs::path find_libtorch(const fs::path& prefix, const std::string& given, const std::string& setting,
                       const std::vector<std::string>& engines) {
  if (!given.empty()) {
    std::error_code ignored;  // no current folder: the path then stays as it is
    fs::path folder = fs::absolute(given, ignored);
    if (ignored) folder = given;
    for (const char* inner : {"", "torch", "libtorch"})
      if (has_libtorch(folder / inner)) return *inner ? folder / inner : folder;
    refuse(
        setting + "=" + given +
        ": no lib/libtorch_cpu.so there; expected the folder of the Python package torch, or of an unpacked LibTorch: "
        "correct it, or unset it");
  }
  std::vector<fs::path> places{prefix / "lib/tenon/torch"};
  if (prefix.filename() == "tenon_host") places.push_back(prefix.parent_path() / "torch");
  for (auto minor = engines.rbegin(); minor != engines.rend(); ++minor) {
    std::ifstream configured(folder_of(prefix, *minor) / kBuildTree);
    if (std::string line; std::getline(configured, line)) places.emplace_back(line);
  }
  std::string searched;
  for (const fs::path& place : places) {
    if (has_libtorch(place)) return place;
    searched += (searched.empty() ? "" : ", ") + place.string();
  }
  refuse("LibTorch: not found in " + searched + "; expected LibTorch " + print_choices(engines) + ": " +
         print_advice(prefix, engines, setting, false));
}

void* open_library(const fs::path& file, int mode, const std::string& advice) {
  void* const library = dlopen(file.c_str(), mode);
  if (library) return library;
  const char* const reason = dlerror();
  throw LoadFailure(
      file.string() + ": cannot be loaded: " + (reason ? reason : "unknown reason") + "; " +
      (is_memory_limited() ? "the memory of the process is limited: raise the limit (ulimit -v, ulimit -d)" : advice));
}

}  // namespace

std::string print_choices(const std::vector<std::string>& versions) {
  std::string text;
  for (size_t i = 0; i < versions.size(); ++i)
    text += (i == 0 ? "" : i + 1 == versions.size() ? " or " : ", ") + versions[i];
  return text;
}

fs::path find_program_file() {
  std::error_code error;
  fs::path file = fs::read_symlink("/proc/self/exe", error);
  if (error) refuse("/proc/self/exe: cannot be read (is /proc mounted?): " + error.message());
  return file;
}

fs::path find_prefix(const fs::path& program_file) {
  const fs::path folder = program_file.parent_path();
  if (!list_engines(folder.parent_path()).empty()) return folder.parent_path();
  std::vector<fs::path> places{folder.parent_path()};
  for (const fs::path packages : kPackages)
    for (const fs::path& python : list((folder / packages.parent_path()).lexically_normal(), packages.filename()))
      for (const char* name : {"site-packages", "dist-packages"}) places.push_back(python / name);
  std::optional<fs::path> newest;
  timespec time{};
  for (const fs::path& place : places) {
    struct stat status {};
    const fs::path prefix = place / "tenon_host";
    if (list_engines(prefix).empty() || stat((prefix / kEngines).c_str(), &status) != 0) continue;
    if (newest && std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec) < std::pair(time.tv_sec, time.tv_nsec))
      continue;
    newest = prefix;
    time = status.st_ctim;
  }
  if (newest) return *newest;
  refuse(program_file.string() +
         ": there is no ../lib/tenon/engine-VERSION, and no package tenon_host in "
         "../lib/python3*/site-packages; install Tenon again");
}

Engine find_engine(const fs::path& prefix, const std::string& given, const std::string& setting) {
  const std::vector<std::string> engines = list_engines(prefix);
  const fs::path folder = find_libtorch(prefix, given, setting, engines);
  LibTorch libtorch{folder, read_version(folder)};
  const std::string minor = minor_of(libtorch.version);
  if (std::find(engines.begin(), engines.end(), minor) == engines.end())
    refuse(folder.string() + ": is LibTorch " + libtorch.version + "; expected LibTorch " + print_choices(engines) +
           ": " + print_advice(prefix, engines, setting, !given.empty()));
  return {folder_of(prefix, minor) / ("libtenon_engine-" + minor + ".so"), std::move(libtorch)};
}

void* load_libtorch(const Engine& engine, int mode) {
  // The engine and native plugins need these two by name, and the loader then finds those that are loaded. LibTorch
  // refers to functions of CUDA's libraries that need not be there.
  void* library = nullptr;
  for (const char* name : {"libc10.so", "libtorch_cpu.so"})
    library = open_library(engine.libtorch.folder / "lib" / name, RTLD_LAZY | mode, "install LibTorch again");
  return library;
}

void* load_engine(const Engine& engine) {
  // A patch release without a function that the engine calls is refused here.
  return open_library(engine.file, RTLD_NOW | RTLD_LOCAL,
                      "install LibTorch " + minor_of(engine.libtorch.version) + ".0, or Tenon again");
}

void* find_function(void* engine, const char* name, const fs::path& file) {
  void* const function = dlsym(engine, name);
  if (!function) throw LoadFailure(file.string() + ": is not an engine of Tenon: it has no function " + name);
  return function;
}

RunEngine* open_engine(const Engine& engine) {
  load_libtorch(engine, RTLD_GLOBAL);
  return reinterpret_cast<RunEngine*>(find_function(load_engine(engine), kRunEngineSymbol, engine.file));
}

}  // namespace tenon::program
