#include "framework/components/loading/plugin_note.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "framework/components/loading/catalogue.h"
#include "framework/components/loading/elf_image.h"
#include "framework/components/loading/plugin_files.h"
#include "tests/components/fixture_plugins.h"
#include "tests/test_folder.h"

namespace plugin_note_test {

namespace fs = std::filesystem;
using tenon::components::fixture_directory;
using tenon::components::make_note;
using tenon::components::make_note_section;
using tenon::components::message_of;
using tenon::components::open_directories;
using tenon::components::parse_note;
using tenon::components::PluginDescription;
using tenon::config::ComponentKind;
using tenon::config::ParamType;
using tenon::config::parse_param_schema;
using tenon::support::ErrorKind;
using Json = nlohmann::ordered_json;

namespace {

// A description with a component of each kind and a parameter of each type.
PluginDescription make_description() {
  PluginDescription plugin{"shapes-2", "1.2.0", "MIT OR Apache-2.0", "Größen & \"shapes\"\n\tin two lines."};
  plugin.torch_build = "2.11.0+cpu,cxx11abi=1";
  plugin.operators = {"aten::linear", "aten::add.Tensor"};
  plugin.abi_min = 1 << 16;
  plugin.abi_max = (1 << 16) + 3;
  const auto param = [](const char* name, ParamType type, const char* default_toml, const char* range = "",
                        const std::vector<std::string>& choices = {}) {
    return parse_param_schema(name, type, default_toml, range, choices, "a parameter");
  };
  plugin.components = {
      {ComponentKind::model,
       "net",
       "a model",
       {param("bias", ParamType::boolean, "true"), param("width", ParamType::integer, "64", "[1, inf)"),
        param("dropout", ParamType::floating, "0.1", "[0, 1)"), param("scale", ParamType::floating, "1"),
        param("act", ParamType::string, "\"relu\"", "", {"relu", "a \"b\""}), param("weights", ParamType::path, "\"\""),
        param("hidden", ParamType::integers, "[1, 2]", "[1, inf)"), param("rates", ParamType::floats, "[0.5]"),
        param("names", ParamType::strings, "[\"a\"]", "", {"a", "b"})}},
      {ComponentKind::dataset, "shapes", "a dataset", {param("path", ParamType::path, "")}},
      {ComponentKind::loss, "net", "a loss of the model's id", {}},
      {ComponentKind::metric, "distance", "", {}},
      {ComponentKind::callback, "stop_early", "a callback", {}}};
  return plugin;
}

std::string read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

fs::path sound_plugin() { return fixture_directory("counting") / "counting.so"; }

// Writes a plugin with these bytes as the only file of a separate folder.
fs::path write_library(const std::string& folder, const std::string& bytes) {
  const fs::path path = tenon::test_folder() / "noted" / folder / "plugin.so";
  fs::remove_all(path.parent_path());
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string note_of(const fs::path& file) {
  const auto note = tenon::components::inspect_library(file, "tenon_plugin_open").note;
  REQUIRE(note);
  return *note;
}

// Copies a fixture with a changed note of the same length. JSON may end in spaces.
fs::path write_with_note(const std::string& fixture, const std::string& folder,
                         const std::function<void(Json&)>& change) {
  const fs::path file = fixture_directory(fixture) / (fixture + ".so");
  std::string bytes = read_bytes(file);
  const std::string note = note_of(file);
  Json changed = Json::parse(note);
  change(changed);
  std::string text = changed.dump();
  REQUIRE(text.size() <= note.size());
  text.resize(note.size(), ' ');
  const size_t place = bytes.find(note);
  REQUIRE(place != bytes.npos);
  return write_library(folder, bytes.replace(place, note.size(), text));
}

std::string refusal_of(const std::string& note) {
  return message_of([&] { parse_note("dir/plugin.so", note); }, ErrorKind::plugin);
}

std::string refusal_of(const std::function<void(Json&)>& change) {
  Json note = Json::parse(make_note(make_description()));
  change(note);
  return refusal_of(note.dump());
}

tenon::components::PluginsFound survey(const std::vector<fs::path>& places) {
  return tenon::components::survey_notes(places, tenon::components::host_table(), "2.11.0+test,cxx11abi=1");
}

}  // namespace

TEST_CASE("a note is parsed to the description that it was made from") {
  const PluginDescription description = make_description();
  const std::string note = make_note(description);
  CHECK(note.find('\n') == note.npos);
  const auto read = parse_note("plugin.so", note);
  REQUIRE(read);
  CHECK(*read == description);
  CHECK(make_note(*read) == note);
}

TEST_CASE("unknown keys of a later host are ignored, and a later format counts as no note") {
  Json note = Json::parse(make_note(make_description()));
  note["signed_by"] = {{"deeper", {1, 2, 3}}};
  note["components"][0]["parameters"][0]["unit"] = "m";
  const auto read = parse_note("plugin.so", note.dump());
  REQUIRE(read);
  CHECK(*read == make_description());
  note = {{"format", 2}, {"id", 5}};
  CHECK(!parse_note("plugin.so", note.dump()));
}

// The time grew with the square of the size.
TEST_CASE("a note with very many keys is read in time proportional to its size") {
  std::string keys;
  for (size_t i = 0; keys.size() < tenon::components::kLargestNote - 100; ++i)
    keys += "\"" + std::to_string(i) + "\":{},";
  CHECK(refusal_of('{' + keys + "\"format\":0}").find("format is not a number above 0") != std::string::npos);
}

TEST_CASE("a damaged or hostile note is refused with the file, the location and a solution") {
  const std::string deep(100000, '[');
  const std::pair<std::string, const char*> wrong_texts[] = {
      {"", "it is not JSON: "},
      {"{", "it is not JSON: "},
      {"{} {}", "it is not JSON: "},
      {deep, "it nests deeper than a description does"},
      {"{\"format\":1,\"id\":" + deep, "it nests deeper than a description does"},
      {"{\"format\":1,\"id\":\"\xFF\"}", "it is not JSON: "},
      {"{\"format\":1,\"id\":\"\\ud800\"}", "it is not JSON: "},
      {std::string(tenon::components::kLargestNote + 1, ' '), "it has 4194305 bytes; expected at most 4194304 bytes"},
      {"[]", "it is not an object"},
      {"{}", "format is missing"},
      {"{\"format\":\"1\"}", "format is not a number above 0"},
      {"{\"format\":0}", "format is not a number above 0"},
      {"{\"format\":-1}", "format is not a number above 0"},
      {"{\"format\":1}", "id is missing"}};
  for (const auto& [note, found] : wrong_texts) {
    const std::string message = refusal_of(note);
    CAPTURE(message);
    CHECK(message.find("dir/plugin.so: its note is damaged: " + std::string(found)) == 0);
    CHECK(message.find("; expected what `host note dir/plugin.so` writes: build the plugin again") !=
          std::string::npos);
  }
  const std::pair<std::function<void(Json&)>, const char*> wrong_values[] = {
      {[](Json& note) { note["id"] = "Shapes"; }, "id is \"Shapes\", which is not a valid id"},
      {[](Json& note) { note["version"] = 1; }, "version is not a string"},
      {[](Json& note) { note["doc"] = "a\x1b[2J"; }, "doc holds the control character U+001B"},
      {[](Json& note) { note["doc"] = "a\xC2\x9B"; }, "doc holds the control character U+009B"},
      {[](Json& note) { note["license"] = std::string(70000, 'a'); }, "license has 70000 bytes"},
      {[](Json& note) { note["operators"] = "aten::add"; }, "operators is not a list"},
      {[](Json& note) { note["operators"][1] = nullptr; }, "operators is not a string"},
      {[](Json& note) { note["abi_min"] = 1e300; }, "abi_min is not an ABI version"},
      {[](Json& note) { note["abi_max"] = uint64_t{1} << 32; }, "abi_max is not an ABI version"},
      {[](Json& note) { note.erase("components"); }, "components is missing"},
      {[](Json& note) { note["components"] = Json::array(); }, "components is empty"},
      {[](Json& note) { note["components"][2] = "net"; }, "components[2] is not an object"},
      {[](Json& note) { note["components"][2]["kind"] = "optimizer"; }, "components[2].kind is \"optimizer\", which"},
      {[](Json& note) { note["components"][2]["kind"] = "model"; }, "components[2].id occurs twice"},
      {[](Json& note) { note["components"][1]["id"] = "../x"; },
       "components[1].id is \"../x\", which is not a valid id"},
      {[](Json& note) { note["components"][0]["parameters"][1]["type"] = "int128"; },
       "components[0].parameters[1].type is \"int128\", which this host does not know"},
      {[](Json& note) { note["components"][0]["parameters"][1]["default"] = "0"; },
       "components[0].parameters[1]: parameter width: the default is 0"},
      {[](Json& note) { note["components"][0]["parameters"][1]["range"] = "[1"; },
       "components[0].parameters[1]: parameter width: the range `[1` is not an interval"},
      {[](Json& note) { note["components"][0]["parameters"][1]["name"] = "bias"; },
       "components[0].parameters[1].name occurs twice"},
      {[](Json& note) {
         note["components"][0]["parameters"][1]["choices"] = {{"a", 1}};
       },
       "components[0].parameters[1].choices is not a list"}};
  for (const auto& [change, found] : wrong_values) {
    const std::string message = refusal_of(change);
    CAPTURE(message);
    CHECK(message.find("dir/plugin.so: its note is damaged: " + std::string(found)) == 0);
  }
}

TEST_CASE("a description with control characters or invalid UTF-8 gets no note") {
  PluginDescription description = make_description();
  description.components[3].doc = "distance\r";
  CHECK_THROWS_WITH_AS(make_note(description), "components[3].doc holds the control character U+000D",
                       std::invalid_argument);
  description.components[3].doc = "half of a pair: \xED\xA0\x80";
  CHECK_THROWS_AS(make_note(description), std::invalid_argument);
}

TEST_CASE("the build writes the note of a plugin from its tables") {
  const auto catalogue = tenon::components::open_fixture("counting");
  REQUIRE(catalogue.plugins().size() == 1);
  const PluginDescription& tables = *catalogue.plugins().front();
  CHECK(tables.components.size() == 1);
  CHECK(note_of(sound_plugin()) == make_note(tables));
}

TEST_CASE("a plugin that differs from its note is refused with the first difference") {
  const std::pair<std::function<void(Json&)>, const char*> changes[] = {
      {[](Json& note) { note["components"][0]["parameters"][0]["default"] = "11"; },
       "components.counting.parameters.samples.default: the note says \"11\", the plugin says \"10\""},
      {[](Json& note) { note["components"][0]["parameters"] = Json::array(); },
       "components.counting.parameters.samples: the note says nothing, the plugin says {\"name\":\"samples\""},
      {[](Json& note) { note["components"][0]["id"] = "count"; },
       "components.count.id: the note says \"count\", the plugin says \"counting\""},
      {[](Json& note) { note["license"] = ""; }, "license: the note says \"\", the plugin says \"MIT\""}};
  for (const auto& [change, found] : changes) {
    const fs::path file = write_with_note("counting", "differs", change);
    const std::string message = message_of([&] { open_directories({file}); }, ErrorKind::plugin);
    CAPTURE(message);
    CHECK(message.find(file.string() + ": its note does not match it: " + found) == 0);
    CHECK(message.find("; expected the same: build it again, or rewrite the note with `host note " + file.string() +
                       "`") != std::string::npos);
  }
}

TEST_CASE("a note of a later format is ignored, and the plugin is opened as one without a note") {
  const fs::path file = write_with_note("counting", "later", [](Json& note) { note["format"] = 2; });
  CHECK(open_directories({file}).plugins().size() == 1);
  CHECK(survey({file}).without_note == std::vector<fs::path>{file});
}

TEST_CASE("a plugin with a note for another LibTorch is refused before its code runs") {
  const fs::path file = write_with_note("leaves_traces", "other_torch", [](Json& note) {
    note["doc"] = "";
    note["torch_build"] = "1.0.0";
  });
  const fs::path traces = file.parent_path() / "traces.txt";
  REQUIRE(setenv("TENON_TEST_TRACES", traces.c_str(), 1) == 0);
  const std::string message = message_of([&] { open_directories({file}); }, ErrorKind::plugin);
  const auto found = survey({file});
  CHECK(!fs::exists(traces));
  tenon::components::open_fixture("leaves_traces");  // its code leaves traces when it runs
  CHECK(fs::exists(traces));
  REQUIRE(unsetenv("TENON_TEST_TRACES") == 0);
  CHECK(message.find("was built with LibTorch 1.0.0; this host has 2.11.0+test,cxx11abi=1") != std::string::npos);
  REQUIRE(found.refusals.size() == 1);
  CHECK(found.refusals.front().reason == message);
}

TEST_CASE("a plugin with a note for another LibTorch does not concern runs that use other components") {
  const fs::path file = write_with_note("counting", "unfit_torch", [](Json& note) {
    note["doc"] = "";
    note["components"][0]["doc"] = "";
    note["torch_build"] = "1.0.0";
    note["components"][0]["id"] = "unfit";
  });
  const auto catalogue = tenon::components::Catalogue::look({file, sound_plugin()}, tenon::components::host_table(),
                                                            "2.11.0+test,cxx11abi=1");
  CHECK(catalogue.find_schema(ComponentKind::dataset, "counting") != nullptr);
  CHECK(catalogue.component_ids(ComponentKind::dataset) == std::vector<std::string>{"counting"});
  const std::string message =
      message_of([&] { catalogue.find_schema(ComponentKind::dataset, "unfit"); }, ErrorKind::plugin);
  CHECK(message.find("was built with LibTorch 1.0.0") != std::string::npos);
}

TEST_CASE("a survey finds notes, refused files and files without a note") {
  const fs::path copy = write_library("copy", read_bytes(sound_plugin()));
  const auto found = survey({sound_plugin(), fixture_directory("null_plugin"), copy});
  REQUIRE(found.plugins.size() == 1);
  CHECK(found.plugins.front().file == sound_plugin());
  CHECK(found.plugins.front().sha256.size() == 64);
  CHECK(found.plugins.front().components.front().id == "counting");
  CHECK(found.without_note == std::vector<fs::path>{fixture_directory("null_plugin") / "null_plugin.so"});
  REQUIRE(found.refusals.size() == 1);
  CHECK(found.refusals.front().reason == "dataset \"counting\" is in two plugins: " + sound_plugin().string() +
                                             " and " + copy.string() + "; remove one, or rename its id");
}

TEST_CASE("a section that is not a note of Tenon, or is truncated, is refused") {
  const std::string bytes = read_bytes(sound_plugin());
  const std::string section = make_note_section(note_of(sound_plugin()));
  const size_t place = bytes.find(section);
  REQUIRE(place != bytes.npos);
  const auto refusal = [&](size_t at, const std::string& changed) {
    const fs::path file = write_library("section", std::string(bytes).replace(at, changed.size(), changed));
    return message_of([&] { tenon::components::inspect_library(file, "tenon_plugin_open"); }, ErrorKind::plugin);
  };
  const std::string no_note = "is damaged: its section .note.tenon does not hold a note of Tenon; expected a whole";
  CHECK(refusal(place, "\xFF\xFF\xFF\xFF").find(no_note) != std::string::npos);  // the owner's length
  CHECK(refusal(place + 4, "\x08").find(no_note) != std::string::npos);          // the text's length
  CHECK(refusal(place + 4, "\xFF\xFF\xFF\xFF").find(no_note) != std::string::npos);
  CHECK(refusal(place + 8, "\x02").find(no_note) != std::string::npos);    // the type
  CHECK(refusal(place + 12, "Tenom").find(no_note) != std::string::npos);  // the owner

  // The section header that points to the note.
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.sh_offset != place) continue;
    const auto changed = [&] { return std::string(reinterpret_cast<const char*>(&entry), sizeof entry); };
    entry.sh_size = bytes.size() - place + 1;
    CHECK(refusal(at, changed()).find("is cut short: ") != std::string::npos);
    entry.sh_size = ~uint64_t{0};
    CHECK(refusal(at, changed()).find("its section .note.tenon has 18446744073709551615 bytes") != std::string::npos);
    entry.sh_size = section.size();
    entry.sh_name = ~uint32_t{0};  // invalid name: another section
    CHECK(refusal(at, changed()).empty());
    return;
  }
  FAIL("no section header leads to the note");
}

}  // namespace plugin_note_test
