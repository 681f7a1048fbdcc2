// `host new plugin NAME`: writes the project of a new plugin.
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "framework/artifacts/files/durable_file.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/components/loading/survey_notes.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/new_plugin/plugin_project.h"

namespace tenon::host {

namespace fs = std::filesystem;
using config::ComponentKind;

namespace {

const std::map<std::string, ComponentKind> kKinds = {{"dataset", ComponentKind::dataset},
                                                     {"model", ComponentKind::model},
                                                     {"loss", ComponentKind::loss},
                                                     {"metric", ComponentKind::metric},
                                                     {"callback", ComponentKind::callback}};

po::options_description make_new_plugin_options() {
  po::options_description options = no_options();
  auto add = options.add_options();
  add("kind", po::value<std::string>()->value_name("KIND")->default_value("dataset"),
      "component to write: dataset, model, loss, metric or callback");
  add("output", po::value<std::string>()->value_name("DIR"), "folder to write, new or empty; NAME by default");
  return options;
}

// A run refuses two plugins with the same component.
void require_new_component(const Arguments& arguments, const std::string& name, ComponentKind kind) {
  components::install_libtorch();
  const auto directories = components::find_plugin_directories({}, {}, support::find_program_file());
  for (const components::PluginInfo& plugin :
       components::survey_notes(directories, components::host_table(), components::torch_build()).plugins)
    for (const config::ComponentSchema& component : plugin.components)
      if (component.kind == kind && component.id == name)
        arguments.refuse(plugin.file.string() + " already has a " + to_string(kind) + " \"" + name + "\"",
                         "another name");
}

void make_folder(const Arguments& arguments, const fs::path& folder) {
  const auto kind = support::ErrorKind::configuration;
  if (support::path_exists(folder)) {
    if (!support::is_folder(folder) || !support::list_folder(folder, kind).empty())
      arguments.refuse(support::print_path(folder) + " " +
                           (support::is_folder(folder) ? "is not empty" : support::describe_path(folder)),
                       "a new or empty folder: choose another with --output");
    return;
  }
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw support::make_path_error(kind, folder, "cannot be created", failure.value());
}

// CMake finds Tenon only in an installation.
std::string find_prefix() {
  const fs::path prefix = support::find_program_file().parent_path().parent_path();
  return support::path_exists(prefix / "lib/cmake/Tenon/TenonConfig.cmake") ? prefix.string() : "";
}

void print_commands(const std::string& name, const fs::path& folder) {
  const std::string prefix = find_prefix();
  const std::string build = support::quote_for_shell((folder / "build").string());
  if (prefix.empty())
    reporting::write_output(
        "This host is not installed. First run `cmake --install BUILD --prefix PREFIX` in the folder of Tenon.\n");
  reporting::write_output("Build, test and run it with\n");
  reporting::write_output_text("cmake -S " + support::quote_for_shell(folder.string()) + " -B " + build +
                               " -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=" +
                               (prefix.empty() ? "PREFIX" : support::quote_for_shell(prefix)) + " && cmake --build " +
                               build + "\n" + "ctest --test-dir " + build + " --output-on-failure\n" + program_name() +
                               " --config " + support::quote_for_shell((folder / (name + ".toml")).string()) +
                               " --plugin-dir " + build + "\n");
}

int make_new_plugin(const Arguments& arguments) {
  const std::string name = arguments.positional().front();
  const std::string kind_name = arguments.choice("kind", {"dataset", "model", "loss", "metric", "callback"});
  const ComponentKind kind = kKinds.at(kind_name);
  if (const auto fault = find_plugin_name_fault(name))
    arguments.refuse("\"" + name + "\" " + fault->found, fault->expected);
  require_new_component(arguments, name, kind);
  const fs::path folder = arguments.has("output") ? fs::path(arguments.text("output")) : fs::path(name);
  make_folder(arguments, folder);
  for (const auto& [file, text] : make_plugin_project(name, kind))
    artifacts::write_file_durably(folder / file, text, support::ErrorKind::configuration);
  reporting::write_output("%s: CMakeLists.txt, %s.cpp with a %s, and %s.toml with a run that uses it\n", folder.c_str(),
                          name.c_str(), kind_name.c_str(), name.c_str());
  print_commands(name, folder);
  return 0;
}

}  // namespace

extern const Command new_plugin_command{
    .name = "new plugin",
    .arguments = "NAME",
    .needed = "",
    .purpose = "write the project of a new plugin",
    .details =
        "Writes a folder with a small working component in C++, its CMakeLists.txt with tests, and a run file that "
        "uses it with bundled components. Prints the commands that build, test and run it.",
    .page = "guides/your_plugin.md",
    .make_options = make_new_plugin_options,
    .run = make_new_plugin};

}  // namespace tenon::host
