#include <doctest/doctest.h>

#include "framework/support/digests/sha256.h"
#include "tests/components/fixture_plugins.h"

namespace fs = std::filesystem;
using tenon::components::Catalogue;
using tenon::components::fixture_directory;
using tenon::components::host_table;
using tenon::components::kTorchBuild;
using tenon::components::message_of;
using tenon::config::PluginPin;
using tenon::support::ErrorKind;

namespace {

const fs::path kFile = fixture_directory("counting") / "counting.so";

Catalogue open_pinned(const std::vector<fs::path>& directories, const std::vector<PluginPin>& pins) {
  return Catalogue::open(directories, host_table(), kTorchBuild, pins);
}

}  // namespace

TEST_CASE("a plugin that matches its pin is opened, together with plugins without a pin") {
  const std::string digest = tenon::support::read_sha256(kFile);
  const auto catalogue = open_pinned({fixture_directory("counting"), fixture_directory("event_recorder")},
                                     {{"counting.so", digest, "run.toml:2:12"}});
  REQUIRE(catalogue.plugins().size() == 2);
  CHECK(catalogue.plugins().front()->sha256 == digest);
}

TEST_CASE("a plugin with another digest is refused with both digests, before code of any plugin runs") {
  const std::string other(64, '0');
  // open_throws comes first. Its error would be reported if it was opened.
  const std::string message = message_of(
      [&] {
        open_pinned({fixture_directory("open_throws"), fixture_directory("counting")},
                    {{"counting.so", other, "run.toml:2:12"}});
      },
      ErrorKind::plugin);
  CAPTURE(message);
  CHECK(message.find("counting.so: has the SHA-256 " + tenon::support::read_sha256(kFile) + "; expected " + other +
                     ", as run.toml:2:12 pins it") != std::string::npos);
}

TEST_CASE("a pin of a missing file is an error with its location and the nearest name") {
  const std::string message = message_of(
      [&] {
        open_pinned({fixture_directory("counting")}, {{"countin.so", std::string(64, '0'), "run.toml:2:12"}});
      },
      ErrorKind::plugin);
  CAPTURE(message);
  CHECK(message.find("run.toml:2:12: plugins.sha256 names the file \"countin.so\", which was not found; did you mean "
                     "\"counting.so\"? (searched ") == 0);
}
