// `host new plugin NAME`: writes the project of a new plugin.
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "framework/artifacts/files/durable_file.h"
#include "framework/components/loading/catalogue.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/installation.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/describe/find_plugins.h"
#include "host/new_plugin/plugin_project.h"

namespace tenon::host {

namespace fs = std::filesystem;
using config::ComponentKind;

namespace {

const std::map<std::string, ComponentKind> kKinds = {
    {"dataset", ComponentKind::dataset},   {"model", ComponentKind::model},
    {"loss", ComponentKind::loss},         {"metric", ComponentKind::metric},
    {"callback", ComponentKind::callback}, {"transform", ComponentKind::transform}};

void add_new_plugin_options(AddOption& add) {
  add("kind", text_value("KIND")->default_value("dataset"),
      "component to write: dataset, model, loss, metric, callback, or transform of images");
  add("template", text_value("TEMPLATE")->default_value("plain"),
      "plain, or images: a dataset that reads image files with the transforms of the run file");
  add("output", text_value("DIR"), "folder to write, new or empty; NAME by default");
}

// A run refuses two plugins with the same component.
void require_new_component(const Arguments& arguments, const std::string& name, ComponentKind kind) {
  for (const components::PluginInfo& plugin : survey_notes({}).plugins)
    for (const config::ComponentSchema& component : plugin.components)
      if (component.kind == kind && component.id == name)
        arguments.refuse(plugin.file.string() + " already has a " + to_string(kind) + " \"" + name + "\"",
                         "another name");
}

void make_subfolder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    throw support::make_path_error(support::ErrorKind::configuration, folder, "cannot be created", failure.value());
}

void make_folder(const Arguments& arguments, const fs::path& folder) {
  const auto kind = support::ErrorKind::configuration;
  if (support::path_exists(folder)) {
    if (!support::is_folder(folder) || !support::list_folder(folder, kind).empty())
      arguments.refuse(support::format_path(folder) + " " +
                           (support::is_folder(folder) ? "is not empty" : support::describe_path(folder)),
                       "a new or empty folder: choose another with --output");
    return;
  }
  make_subfolder(folder);
}

// CMake finds Tenon only in an installation.
std::string find_prefix() {
  const fs::path prefix = support::find_installation().prefix;
  return support::path_exists(prefix / "lib/cmake/Tenon/TenonConfig.cmake") ? prefix.string() : "";
}

void print_commands(const std::string& name, const fs::path& folder) {
  const std::string prefix = find_prefix();
  const auto quote = [](const fs::path& path) { return support::quote_for_shell(path.string()); };
  if (prefix.empty())
    reporting::write_output_text(
        "This host is not installed. First run `cmake --install BUILD --prefix PREFIX` in the folder of Tenon.\n");
  reporting::write_output(
      "Build, test and run it with\n"
      "cmake -S {0} -B {1} -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH={2} && cmake --build {1}\n"
      "ctest --test-dir {1} --output-on-failure\n"
      "{3} --config {4} --plugin-dir {1}\n",
      quote(folder), quote(folder / "build"), prefix.empty() ? "PREFIX" : quote(prefix), program_name(),
      quote(folder / (name + ".toml")));
}

int make_new_plugin(const Arguments& arguments) {
  const std::string name = arguments.positional().front();
  const std::string kind_name =
      arguments.choice("kind", {"dataset", "model", "loss", "metric", "callback", "transform"});
  const ComponentKind kind = kKinds.at(kind_name);
  if (const auto fault = find_plugin_name_fault(name))
    arguments.refuse("\"" + name + "\" " + fault->found, fault->expected);
  require_new_component(arguments, name, kind);
  const bool has_images = arguments.choice("template", {"plain", "images"}) == "images";
  if (has_images && kind != ComponentKind::dataset)
    arguments.refuse("--template is \"images\" for a " + kind_name, "--kind dataset, which reads the images");
  const fs::path folder = arguments.has("output") ? fs::path(arguments.text("output")) : fs::path(name);
  make_folder(arguments, folder);
  for (const auto& [file, text] :
       make_plugin_project(name, kind, has_images ? PluginTemplate::images : PluginTemplate::plain)) {
    if (const fs::path parent = fs::path(file).parent_path(); !parent.empty()) make_subfolder(folder / parent);
    artifacts::write_file_durably(folder / file, text, support::ErrorKind::configuration);
  }
  reporting::write_output("{}: CMakeLists.txt, {}.cpp with a {}, and {}.toml with a run that uses it{}\n",
                          folder.string(), name, kind_name, name,
                          has_images
                              ? "; photos, train.txt and validation.txt with drawn images, to be replaced by yours"
                          : kind == ComponentKind::transform ? "; photos with drawn images, to be replaced by yours"
                                                             : "");
  print_commands(name, folder);
  return 0;
}

}  // namespace

extern const Command new_plugin_command{
    .name = "new plugin",
    .arguments = "NAME",
    .purpose = "write the project of a new plugin",
    .details =
        "Writes a folder with a small working component in C++, its CMakeLists.txt with tests, and a run file that "
        "uses it with bundled components. Prints the commands that build, test and run it.",
    .page = "guides/your_plugin.md",
    .add_options = add_new_plugin_options,
    .run = make_new_plugin};

}  // namespace tenon::host
