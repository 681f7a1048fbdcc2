// How the program finds LibTorch and the engine for it, with files in a temporary installation.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "host/program/engine.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using tenon::contains;
using tenon::program::Engine;
using tenon::program::find_engine;
using tenon::program::find_prefix;

namespace {

void write(const fs::path& file, const std::string& text = "") {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

fs::path make_root(const std::string& name) {
  const fs::path root = tenon::test_folder() / name;
  fs::remove_all(root);
  fs::create_directories(root);
  return root;
}

void add_engines(const fs::path& prefix) {
  for (const std::string minor : {"2.9", "2.11", "2.15"})
    write(prefix / "lib/tenon" / ("engine-" + minor) / ("libtenon_engine-" + minor + ".so"));
}

void add_libtorch(const fs::path& folder, const std::string& version) {
  write(folder / "lib/libtorch_cpu.so");
  write(folder / "version.py", "from typing import Optional\n\n__version__ = '" + version + "'\ndebug = False\n");
}

std::string refusal_of(const fs::path& prefix, const std::string& given = "") {
  try {
    find_engine(prefix, given);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the engine is the one for the LibTorch in the installation") {
  const fs::path prefix = make_root("prefix");
  add_engines(prefix);
  add_libtorch(prefix / "lib/tenon/torch", "2.11.1+cpu");
  const Engine engine = find_engine(prefix, "");
  CHECK(engine.file == prefix / "lib/tenon/engine-2.11/libtenon_engine-2.11.so");
  CHECK(engine.libtorch.folder == prefix / "lib/tenon/torch");
  CHECK(engine.libtorch.version == "2.11.1+cpu");
}

TEST_CASE("the wheel uses the package torch next to it, and an installation elsewhere does not") {
  const fs::path packages = make_root("packages");
  for (const char* name : {"tenon_host", "other"}) add_engines(packages / name);
  add_libtorch(packages / "torch", "2.15.0+cu132");
  CHECK(find_engine(packages / "tenon_host", "").libtorch.folder == packages / "torch");
  CHECK(contains(refusal_of(packages / "other"), "LibTorch: not found in "));
}

TEST_CASE("TENON_LIBTORCH is used first, as the package torch, a folder with it, or an unpacked archive") {
  const fs::path root = make_root("given"), prefix = root / "prefix";
  add_engines(prefix);
  add_libtorch(prefix / "lib/tenon/torch", "2.11.0");
  add_libtorch(root / "environment/torch", "2.15.0+cpu");
  for (const char* given : {"environment", "environment/torch"}) {
    const Engine engine = find_engine(prefix, root / given);
    CHECK(engine.libtorch.version == "2.15.0+cpu");
    CHECK(engine.file.filename() == "libtenon_engine-2.15.so");
  }
  write(root / "archive/libtorch/lib/libtorch_cpu.so");
  write(root / "archive/libtorch/build-version", "2.9.1+cpu\n");
  CHECK(find_engine(prefix, root / "archive").libtorch.version == "2.9.1+cpu");
  write(root / "source/lib/libtorch_cpu.so");
  write(root / "source/include/torch/headeronly/version.h",
        "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 15\n#define TORCH_VERSION_PATCH 3\n");
  CHECK(find_engine(prefix, root / "source").libtorch.version == "2.15.3");
}

TEST_CASE("a build tree uses the LibTorch that it was configured with") {
  const fs::path root = make_root("build");
  add_engines(root);
  add_libtorch(root / "cache/torch", "2.15.0");
  write(root / "lib/tenon/engine-2.15/libtorch.path", (root / "cache/torch").string() + "\n");
  CHECK(find_engine(root, "").libtorch.folder == root / "cache/torch");
}

TEST_CASE("a LibTorch without an engine is refused with the versions that fit and the command that installs one") {
  const fs::path packages = make_root("unfit"), prefix = packages / "tenon_host";
  add_engines(prefix);
  add_libtorch(packages / "torch", "2.12.0+cpu");
  const std::string text = refusal_of(prefix);
  CHECK(contains(text,
                 (packages / "torch").string() + ": is LibTorch 2.12.0+cpu; expected LibTorch 2.9, 2.11 or 2.15: run"));
  CHECK(contains(text, "pip install 'torch==2.15.*'"));
  CHECK(contains(text, "TENON_LIBTORCH"));
}

TEST_CASE("a missing LibTorch is refused with the places that were searched") {
  const fs::path packages = make_root("missing"), prefix = packages / "tenon_host";
  add_engines(prefix);
  const std::string text = refusal_of(prefix);
  CHECK(contains(text, (prefix / "lib/tenon/torch").string() + ", " + (packages / "torch").string()));
  CHECK(contains(text, "pip install 'torch==2.15.*'"));
  CHECK(contains(refusal_of(prefix, packages / "nowhere"), "TENON_LIBTORCH=" + (packages / "nowhere").string()));
  write(packages / "torch/lib/libtorch_cpu.so");
  CHECK(contains(refusal_of(prefix), "the version of this LibTorch is unknown"));
}

TEST_CASE("the program finds its installation above bin/, or the package that pip installed last") {
  const fs::path root = make_root("environments");
  for (const char* place :
       {"lib/python3.11/site-packages", "lib/python3.13/site-packages", "local/lib/python3.12/dist-packages"}) {
    add_engines(root / place / "tenon_host");
    CHECK(find_prefix(root / "bin/host") == root / place / "tenon_host");
  }
  add_engines(root);
  CHECK(find_prefix(root / "bin/host") == root);
  const fs::path target = make_root("target");
  add_engines(target / "tenon_host");
  CHECK(find_prefix(target / "bin/host") == target / "tenon_host");
  CHECK_THROWS_AS(find_prefix(make_root("nothing") / "bin/host"), std::runtime_error);
}
