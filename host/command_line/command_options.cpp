#include "host/command_line/command_options.h"

#include <string>
#include <vector>

namespace tenon::host {

po::options_description no_options() { return po::options_description("Options", 100, 60); }

void add_plugin_directory_option(po::options_description& options) {
  options.add_options()("plugin-dir", po::value<std::vector<std::string>>()->value_name("DIR")->composing(),
                        "search this folder for plugins first; may be repeated");
}

po::options_description run_file_options() {
  po::options_description options = no_options();
  auto add = options.add_options();
  add("config", po::value<std::string>()->value_name("FILE"),
      "run file (TOML); see configs/ for examples; the word --config may be left out");
  add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE")->composing(),
      "override a key of the run file, e.g. --set train.epochs=3; may be repeated");
  add_plugin_directory_option(options);
  return options;
}

void add_checkpoint_option(po::options_description& options) {
  options.add_options()(
      "checkpoint", po::value<std::string>()->value_name("PATH")->default_value("latest"),
      "weights to load: a checkpoint folder, a run folder, a folder of runs such as runs/NAME for the "
      "newest one, or a safetensors file; or latest or best for that checkpoint of the newest run of "
      "this name");
}

void add_json_option(po::options_description& options) { options.add_options()("json", "print JSON"); }

}  // namespace tenon::host
