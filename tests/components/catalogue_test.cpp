#include "framework/components/loading/catalogue.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "tests/components/fixture_plugins.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using tenon::components::Catalogue;
using tenon::components::fixture_directory;
using tenon::components::host_table;
using tenon::components::kTorchBuild;
using tenon::components::message_of;
using tenon::components::open_directories;
using tenon::components::open_fixture;
using tenon::config::ComponentKind;
using tenon::support::ErrorKind;

namespace {

struct Wrong {
  const char* fixture;
  const char* message;  // a part of it
};

constexpr Wrong kWrong[] = {
    {"missing_entry", "has no symbol tenon_plugin_open"},
    {"wrong_version", "speaks the plugin ABI 99.0 to 99.0; this host speaks 1.0 to 1.0"},
    {"silent_torch", "links LibTorch but does not declare its version: build it with tenon_add_plugin(NAME TORCH ...)"},
    {"wrong_torch", "was built with LibTorch 1.0.0+none,cxx11abi=1; this host has 2.11.0+test,cxx11abi=1"},
    {"open_fails", "tenon_plugin_open failed: "},
    {"open_throws", "tenon_plugin_open threw an exception"},
    {"null_plugin", "tenon_plugin_open returned no plugin (null)"},
    {"short_plugin", "the plugin's descriptor is "},
    {"short_table", "the table of dataset \"fixture\" is "},
    {"null_function", "has no function get (it is null)"},
    {"unknown_kind", "which this host does not know; expected 1 (model) to 5 (callback)"},
    {"empty_id", "a component's id is \"\"; expected lower-case letters"},
    {"bad_utf8_id", "a component's id is not UTF-8 at byte "},
    {"duplicate_param", " twice"},
    {"bad_schema_default", "of dataset \"fixture\": "},
    {"bad_schema_range", "of dataset \"fixture\": "},
};

}  // namespace

TEST_CASE("every wrong plugin is refused with its file and a specific reason") {
  for (const Wrong& wrong : kWrong) {
    CAPTURE(wrong.fixture);
    const std::string message = message_of([&] { open_fixture(wrong.fixture); }, ErrorKind::plugin);
    CAPTURE(message);
    CHECK(message.find(wrong.message) != std::string::npos);
    CHECK(message.find((fixture_directory(wrong.fixture) / wrong.fixture).string() + ".so: ") == 0);
  }
}

TEST_CASE("two components of one kind and id are refused with both files") {
  const fs::path bundled = fs::path(TENON_BINARY_DIR) / "plugins/digits.so";
  const std::string message = message_of(
      [&] {
        open_directories({bundled, fixture_directory("duplicate_digits")});
      },
      ErrorKind::plugin);
  CHECK(message.find("dataset \"digits\" is in two plugins: ") == 0);
  CHECK(message.find("plugins/digits.so") != std::string::npos);
  CHECK(message.find("duplicate_digits.so") != std::string::npos);
}

TEST_CASE("only plugins with used components are opened") {
  const fs::path bundled = fs::path(TENON_BINARY_DIR) / "plugins/digits.so";
  Catalogue catalogue = Catalogue::look({bundled, fixture_directory("counting")}, host_table(), kTorchBuild);
  CHECK(catalogue.plugins().empty());
  CHECK(catalogue.component_ids(ComponentKind::dataset) == std::vector<std::string>{"counting", "digits"});
  const tenon::config::ComponentSchema* const noted = catalogue.find_schema(ComponentKind::dataset, "counting");
  REQUIRE(noted);
  const tenon::config::ComponentSchema by_note = *noted;
  CHECK(message_of([&] { catalogue.find(ComponentKind::dataset, "counting"); }, ErrorKind::plugin)
            .starts_with("no dataset \"counting\""));

  catalogue.open_plugins_of({{ComponentKind::dataset, "counting"}, {ComponentKind::dataset, "counting"}});
  REQUIRE(catalogue.plugins().size() == 1);
  CHECK(catalogue.plugins().front()->id == "counting");
  CHECK(catalogue.find(ComponentKind::dataset, "counting").schema == by_note);
  CHECK(catalogue.component_ids(ComponentKind::dataset) == std::vector<std::string>{"counting", "digits"});

  catalogue.open_plugins_of({{ComponentKind::dataset, "digits"}});
  CHECK(catalogue.plugins().size() == 2);
}

TEST_CASE("only the use of a component that two plugins have is refused, by their notes") {
  const fs::path bundled = fs::path(TENON_BINARY_DIR) / "plugins/digits.so";
  Catalogue catalogue = Catalogue::look({bundled, fixture_directory("duplicate_digits"), fixture_directory("counting")},
                                        host_table(), kTorchBuild);
  CHECK(catalogue.component_ids(ComponentKind::dataset) == std::vector<std::string>{"counting"});
  CHECK(message_of([&] { catalogue.find_schema(ComponentKind::dataset, "digits"); }, ErrorKind::plugin)
            .starts_with("dataset \"digits\" is in two plugins: "));
  CHECK(catalogue.find_schema(ComponentKind::dataset, "counting"));
  catalogue.open_plugins_of({{ComponentKind::dataset, "counting"}});
  CHECK(catalogue.find(ComponentKind::dataset, "counting").schema.id == "counting");
}

TEST_CASE("the same file found twice is one plugin") {
  const fs::path directory = fixture_directory("counting");
  CHECK(open_directories({directory, directory / "counting.so"}).plugins().size() == 1);
}

TEST_CASE("a file that is not a library is refused before the loader opens it") {
  const fs::path file = tenon::test_folder() / "not_elf.so";
  std::ofstream(file) << "hello";
  const std::string message = message_of([&] { open_directories({file}); }, ErrorKind::plugin);
  CHECK(message.find("not_elf.so: is not an ELF file; it begins with \"hello\"") != std::string::npos);
}

TEST_CASE("a library with a missing dependency is refused with the loader's message") {
  std::ifstream sound(fixture_directory("counting") / "counting.so", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(sound), {}};
  const size_t name = bytes.find(std::string("libc.so.6") + '\0');  // an entry of the string table
  REQUIRE(name != bytes.npos);
  bytes.replace(name, 4, "libx");
  const fs::path file = tenon::test_folder() / "lacking.so";
  std::ofstream(file, std::ios::binary) << bytes;
  const std::string message = message_of([&] { open_directories({file}); }, ErrorKind::plugin);
  CAPTURE(message);
  CHECK(message.find("lacking.so: cannot be loaded: libx.so.6") != std::string::npos);
}

TEST_CASE("files that do not end in .so are not opened") {
  const fs::path directory = tenon::test_folder() / "notes";
  fs::create_directories(directory);
  std::ofstream(directory / "README.md") << "hello";
  CHECK(open_directories({directory}).plugins().empty());
}

TEST_CASE("a missing component is reported with the nearest id and the searched directories") {
  const auto catalogue = open_fixture("counting");
  CHECK(catalogue.find_schema(ComponentKind::dataset, "countin") == nullptr);
  const std::string message = message_of([&] { catalogue.find(ComponentKind::dataset, "countin"); }, ErrorKind::plugin);
  CHECK(message.find("no dataset \"countin\"") == 0);
  CHECK(message.find("counting") != std::string::npos);
  CHECK(message.find(fixture_directory("counting").string()) != std::string::npos);
}

TEST_CASE("an opened plugin has its description") {
  const auto catalogue = open_fixture("counting");
  REQUIRE(catalogue.plugins().size() == 1);
  const auto& plugin = *catalogue.plugins().front();
  CHECK(plugin.id == "counting");
  CHECK(plugin.torch_build.empty());
  CHECK(plugin.sha256.size() == 64);
  CHECK(catalogue.component_ids(ComponentKind::dataset) == std::vector<std::string>{"counting"});
}

TEST_CASE("directories are searched in the order of precedence, each once") {
  const fs::path root = fs::canonical(tenon::test_folder());
  for (const char* name : {"line", "file", "environment", "prefix/plugins", "prefix/lib/tenon/plugins",
                           "prefix/lib/tenon/engine-2.15/plugins", "home/.local/lib/tenon/plugins"})
    fs::create_directories(root / name);
  setenv("TENON_PLUGIN_PATH", (root / "environment").c_str(), 1);
  setenv("HOME", (root / "home").c_str(), 1);
  const auto found =
      tenon::components::find_plugin_directories({root / "line", root / "file/../line"}, {root / "file"},
                                                 {root / "prefix", root / "prefix/lib/tenon/engine-2.15"});
  unsetenv("TENON_PLUGIN_PATH");
  CHECK(found == std::vector<fs::path>{root / "line", root / "file", root / "environment",
                                       root / "home/.local/lib/tenon/plugins", root / "prefix/lib/tenon/plugins",
                                       root / "prefix/lib/tenon/engine-2.15/plugins", root / "prefix/plugins"});
}

TEST_CASE("a missing plugin directory is an error that names the option or key with that directory") {
  for (const auto& [message, named_by_line] : {std::pair{"--plugin-dir: nowhere does not exist", true},
                                               std::pair{"[plugins] paths: nowhere does not exist", false}}) {
    const std::vector<fs::path> nowhere{"nowhere"};
    const std::vector<fs::path> none;
    const std::string found = message_of(
        [&, by_line = named_by_line] {
          tenon::components::find_plugin_directories(by_line ? nowhere : none, by_line ? none : nowhere, {"", ""});
        },
        ErrorKind::plugin);
    CHECK(found.find(message) == 0);
  }
}
