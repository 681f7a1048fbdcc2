// Options that several commands share. Only this header includes Boost.Program_options.
#pragma once

#include <boost/program_options.hpp>
#include <string>

namespace tenon::host {

namespace po = boost::program_options;

po::options_description no_options();

// --config, --set and --plugin-dir.
po::options_description run_file_options();

// Each adds one option.
void add_plugin_directory_option(po::options_description& options);
void add_checkpoint_option(po::options_description& options);
void add_json_option(po::options_description& options);

}  // namespace tenon::host
