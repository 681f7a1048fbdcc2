// The options of each command with their help texts. Only this header includes Boost.Program_options.
#pragma once

#include <boost/program_options.hpp>

namespace tenon::host {

namespace po = boost::program_options;

// The options of `host` without a command.
po::options_description make_options();

// All options of the command in the function's name.
po::options_description make_data_options();
po::options_description make_overfit_options();
po::options_description make_lr_find_options();
po::options_description make_profile_options();
po::options_description make_pack_options();
po::options_description make_evaluate_options();
po::options_description make_predict_options();
po::options_description make_export_options();
po::options_description make_checkpoint_options();
po::options_description make_runs_options();
po::options_description make_report_options();
po::options_description make_compare_options();
po::options_description make_verify_resume_options();
po::options_description make_show_options();  // for plugins and describe
po::options_description make_validate_options();
po::options_description make_note_options();
po::options_description make_schema_options();
po::options_description make_no_options();

}  // namespace tenon::host
