// `host init images DIR`: writes a run file that trains on a folder of images.
#include <filesystem>
#include <string>

#include "framework/artifacts/files/durable_file.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/init/image_folders.h"

namespace tenon::host {

namespace fs = std::filesystem;

namespace {

void add_init_images_options(AddOption& add) {
  add("output", text_value("FILE.toml")->default_value("run.toml"),
      "file to write; a file of this name is kept, unless --force is given");
  add("force", "replace the file");
  add_plugin_directory_option(add);
}

void require_image_folder(const Arguments& arguments, const fs::path& folder) {
  if (support::is_folder(folder)) return;
  arguments.refuse(support::format_path(folder) + " " + support::describe_path(folder) +
                       support::suggest_path(folder, support::is_folder),
                   "a folder with a folder of images for each class");
}

// The runs of a run file are in the working directory.
void require_other_working_folder(const Arguments& arguments, const fs::path& folder) {
  const auto kind = support::ErrorKind::configuration;
  if (support::find_canonical(folder, kind) == support::find_canonical(".", kind))
    arguments.refuse("the images are in the working directory, where the folder runs of a run would become a class",
                     "another working directory: change to the parent folder");
}

int init_images(const Arguments& arguments) {
  const fs::path folder = arguments.positional().front(), output = arguments.text("output");
  require_image_folder(arguments, folder);
  if (support::path_exists(output) && !(arguments.has("force") && support::is_file(output)))
    arguments.refuse("--output " + support::format_path(output) + " " +
                         (support::is_file(output) ? "exists" : support::describe_path(output)),
                     support::is_file(output) ? "a new file, or --force to replace it" : "a file");
  const ImageData data = read_image_data(folder, arguments.plugin_directories());
  require_other_working_folder(arguments, data.folders.train);
  std::string command = program_name() + " --config " + support::quote_for_shell(output.string());
  for (const fs::path& directory : arguments.plugin_directories())
    command += " --plugin-dir " + support::quote_for_shell(directory.string());
  artifacts::write_file_durably(output, format_image_run_file(data, output, command),
                                support::ErrorKind::configuration);
  if (!data.unreadable.empty())
    support::log_warning(data.unreadable + "; list all of them with " + program_name() + " data --config " +
                         support::quote_for_shell(output.string()) + " --all");
  reporting::write_output_text(folder.string() + ": " + describe_images(data) + "\n" + output.string() +
                               ": written; train with\n" + command + "\n");
  return 0;
}

}  // namespace

extern const Command init_images_command{
    .name = "init images",
    .arguments = "DIR",
    .purpose = "write a run file that trains on a folder of images",
    .details =
        "Looks at a folder with one folder of images per class, or with such folders in train and val, and writes a "
        "commented run file for it. Model, image size, batch size and metrics are chosen by the images. The last line "
        "printed is the command that trains.",
    .page = "guides/your_images.md",
    .add_options = add_init_images_options,
    .run = init_images};

}  // namespace tenon::host
