// The options of each command, with what --help says of them. The only door to Boost.Program_options.
#pragma once

#include <boost/program_options.hpp>

namespace tenon::host {

namespace po = boost::program_options;

// --config, --set and --plugin-dir.
void add_run_file_options(po::options_description& options);

// Options of `host` without a command.
po::options_description make_options();
// Options of `host plugins` and `host describe ID`, which stand after these words.
po::options_description make_show_options();
// Options of `host validate FILE`, which stand after the file.
po::options_description make_validate_options();
// Options of `host data`, beside those of the run file.
po::options_description make_data_options();
// Options of `host pack`.
po::options_description make_pack_options();
// Options of `host evaluate`.
po::options_description make_evaluate_options();
// Options of `host predict`.
po::options_description make_predict_options();
// Options of `host overfit`.
po::options_description make_overfit_options();
// Options of `host lr-find`.
po::options_description make_lr_find_options();
// Options of `host verify-resume`.
po::options_description make_profile_options();
po::options_description make_compare_options();
po::options_description make_verify_resume_options();
// Options of `host checkpoint`, which stand after its paths.
po::options_description make_checkpoint_options();
// Options of `host export`.
po::options_description make_export_options();
// Options of `host runs`, which stand after its folder.
po::options_description make_runs_options();
// Options of `host report`, which stand after its runs.
po::options_description make_report_options();

}  // namespace tenon::host
