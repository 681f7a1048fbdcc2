// `host note FILE`: writes the list of components into a plugin file.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/elf_image.h"
#include "framework/components/loading/load_plugin.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/components/loading/plugin_note.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "host/command_line/command.h"
#include "host/process/call_reports.h"
#include "host/process/process_setup.h"

namespace tenon::host {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

namespace {

// A temporary file next to the plugin. The destructor removes it unless it was moved. Its name does not end in .so, so
// that it is not mistaken for a plugin.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& plugin, const std::string& what)
      : path_(plugin.string() + "." + what + "." + std::to_string(getpid())) {}
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw Error(ErrorKind::plugin, file.string() + ": cannot write the note: " + what);
}

// The program's messages go to the host's standard output and error.
void run_program(const fs::path& file, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t process = -1;
  if (const int error = posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ))
    refuse(file, command[0] + " cannot be run: " + std::strerror(error) +
                     "; expected the objcopy of binutils: install binutils, or name one with --objcopy PROGRAM");
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) refuse(file, command[0] + " failed in waitpid: " + std::strerror(errno));
  if (status != 0)
    refuse(file, command[0] + " failed; expected it to add a section to the file (its message is above)");
}

// Reads the plugin's tables. An older note in the file is ignored, because it may be from another build.
components::PluginDescription query_plugin(const fs::path& file) {
  const components::LoadedPlugin plugin =
      components::load_plugin(components::inspect_plugin_file(file, {}, components::Notes::passed_by),
                              components::host_table(), components::torch_build());
  return *plugin.info;
}

void add_note_options(AddOption& add) {
  add("objcopy", text_value("PROGRAM")->default_value("objcopy"), "program that adds a section to the file");
}

int write_note(const Arguments& arguments) {
  const fs::path given = arguments.positional().front();
  const std::string objcopy = arguments.text("objcopy");
  components::install_libtorch();
  std::error_code missing;
  fs::path file = fs::canonical(given, missing);
  if (missing) file = given;  // reported below as a file that cannot be read
  start_call_reports();
  std::string note;
  try {
    note = components::make_note(query_plugin(file));
    restore_standard_streams();  // for objcopy
  } catch (const std::invalid_argument& error) {
    refuse(file, std::string(error.what()) + "; expected printable texts: fix the plugin");
  }
  const TemporaryFile section(file, "note");
  const TemporaryFile noted(file, "noted");
  if (!(std::ofstream(section.path(), std::ios::binary) << components::make_note_section(note) << std::flush))
    refuse(file, section.path().string() + " cannot be written: " + std::strerror(errno));
  run_program(file, {objcopy, "--remove-section", components::kNoteSection, "--add-section",
                     components::kNoteSection + ("=" + section.path().string()), file.string(), noted.path().string()});
  if (!support::path_exists(noted.path()) || components::inspect_library(noted.path(), TENON_ENTRY_SYMBOL).note != note)
    refuse(file, objcopy + " wrote no file with the note; expected the objcopy of binutils");
  std::error_code failed;
  fs::rename(noted.path(), file, failed);
  if (failed) refuse(file, "cannot replace the file: " + failed.message());
  return 0;
}

}  // namespace

extern const Command note_command{.name = "note",
                                  .arguments = "FILE",
                                  .purpose = "write the list of components into a plugin file",
                                  .details =
                                      "Writes the plugin's list of components into its file. `host plugins` reads the "
                                      "list without loading the plugin.",
                                  .page = "reference/writing_plugins.md",
                                  .add_options = add_note_options,
                                  .run = write_note};

}  // namespace tenon::host
