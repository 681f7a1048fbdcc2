// Checks the JSON schema of run files with valijson: accepted files are valid, refused files are not.
#include <toml++/toml.h>

#include <doctest/doctest.h>

#include <functional>

#include "framework/config/file/read_run_config.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/end_to_end/judge_run_file.h"

namespace fs = std::filesystem;
using nlohmann::json;
using tenon::end_to_end::read_toml;
using tenon::end_to_end::RunFileChecker;

namespace {

std::string digits() { return tenon::end_to_end::read_file(fs::path(TENON_SOURCE_DIR) / "configs" / "digits.toml"); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("every run file of configs/ is valid") {
  RunFileChecker check;
  size_t looked_at = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(TENON_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    CHECK(check.check(read_toml(tenon::end_to_end::read_file(entry.path()))) == "");
    ++looked_at;
  }
  CHECK(looked_at >= 10);
}

TEST_CASE("editors mark errors that the host refuses") {
  RunFileChecker check;
  REQUIRE(check.check(read_toml(digits())) == "");
  for (const std::string& wrong : {
           digits() + "\n[tarin]\nepochs = 3\n",                                           // no such table
           digits() + "\n[validation]\nevery = \"2 epoks\"\n",                             // no such unit
           digits() + "\n[validation]\nevery = 2\n",                                       // no period
           digits() + "\n[log]\ntensorboard = \"yes\"\n",                                  // no boolean
           digits() + "\n[distributed]\nbackend = \"mpi\"\n",                              // none of the choices
           digits() + "\n[distributed]\nprocesses = 0\n",                                  // out of range
           digits() + "\n[distributed]\ntimeout_s = 0.0\n",                                // likewise
           digits() + "\n[[callback]]\nuse = \"early_stoping\"\n",                         // no such component
           digits() + "\n[[callback]]\nuse = \"early_stopping\"\nparams.patienc = 3\n",    // no such parameter
           digits() + "\n[[callback]]\nevery = \"1 epoch\"\n",                             // no use
           replaced(digits(), "use = \"one_cycle\"", "use = \"cosine\"\ngamma = 0.1"),     // another schedule's
           replaced(digits(), "use = \"one_cycle\"", "use = \"cosine\"\nwarmup = \"3\""),  // no length
           replaced(digits(), "use = \"one_cycle\"", "use = \"step\""),                    // lacks step_size
       }) {
    CAPTURE(wrong);
    json document;
    try {
      document = read_toml(wrong);
    } catch (const toml::parse_error& error) {
      FAIL(error.description());
    }
    CHECK(check.check(document) != "");
  }
}

TEST_CASE("test data have the keys of validation data") {
  RunFileChecker check;
  for (const char* data : {"[data.test]\nuse = \"digits\"\nparams = { split = \"test\" }\nsubset = \"50%\"\n",
                           "[data.test]\nlike = \"validation\"\n", "[data.test.a]\nuse = \"digits\"\n"})
    CHECK(check.check(read_toml(digits() + "\n" + data)) == "");
  for (const char* data : {"[data.test]\nuse = \"digits\"\nbatch_size = 3\n", "[data.test]\nlike = \"test\"\n",
                           "[data.test.a]\nuse = \"diggits\"\n"})
    CHECK(check.check(read_toml(digits() + "\n" + data)) != "");
}

TEST_CASE("the length of a schedule is text or a number") {
  RunFileChecker check;
  for (const char* length : {"\"30 epochs\"", "\"rest\"", "500", "0.05", "0"})
    CHECK(check.check(read_toml(
              replaced(digits(), "use = \"one_cycle\"", std::string("use = \"cosine\"\nwarmup = ") + length))) == "");
}

TEST_CASE("every integer of a run file has a range: of every key, and of every parameter of a bundled component") {
  const json schema = tenon::end_to_end::read_schema_of_host();
  size_t looked_at = 0;
  const std::function<void(const json&, const std::string&)> check = [&](const json& part, const std::string& place) {
    if (part.is_object() && part.value("type", json()) == "integer") {
      CAPTURE(place);
      const bool has_lower = part.contains("minimum") || part.contains("exclusiveMinimum");
      const bool has_upper = part.contains("maximum") || part.contains("exclusiveMaximum");
      CHECK(has_lower);
      CHECK(has_upper);
      ++looked_at;
    }
    if (!part.is_structured()) return;
    for (const auto& [key, inner] : part.items()) check(inner, place + "/" + key);
  };
  check(schema, "");
  CHECK(looked_at > 200);
}

TEST_CASE("the reference of run files names every key, and the schema describes it") {
  const std::string page =
      tenon::end_to_end::read_file(fs::path(TENON_SOURCE_DIR) / "docs" / "reference" / "run_file.md");
  size_t looked_at = 0;
  for (const tenon::config::RequestedKey& key : tenon::config::list_run_file_keys()) {
    const std::string name = key.path.substr(key.path.rfind('.') + 1);
    if (name == "*" || key.form == tenon::config::RequestedKey::Form::rest) continue;
    CAPTURE(key.path);
    const bool is_table =
        key.form == tenon::config::RequestedKey::Form::table || key.form == tenon::config::RequestedKey::Form::tables;
    if (!is_table) CHECK(!key.schema.doc.empty());
    const bool is_named = page.find('`' + name + '`') != page.npos || (is_table && page.find(name) != page.npos);
    CHECK(is_named);
    ++looked_at;
  }
  CHECK(looked_at > 80);
}
