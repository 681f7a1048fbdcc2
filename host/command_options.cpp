#include "host/command_options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::host {
namespace {

po::options_description empty_options() { return po::options_description("Options", 100, 60); }

void add_plugin_directory_option(po::options_description& options) {
  options.add_options()("plugin-dir", po::value<std::vector<std::string>>()->value_name("DIR")->composing(),
                        "look for plugins here first; may be repeated");
}

po::options_description run_file_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("config", po::value<std::string>()->value_name("FILE"), "the run file (TOML); see configs/ for examples");
  add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE")->composing(),
      "override a key of the run file, e.g. --set train.epochs=3; may be repeated");
  add_plugin_directory_option(options);
  return options;
}

void add_checkpoint_option(po::options_description& options) {
  options.add_options()("checkpoint", po::value<std::string>()->value_name("PATH")->default_value("latest"),
                        "the weights: a checkpoint's folder, a run's, a safetensors file, or latest or best, that "
                        "checkpoint of the newest run of this name");
}

}  // namespace

po::options_description make_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("check", "check the run file, its components and their connections, print the complete plan, and stop");
  add("limit-batches", po::value<int64_t>()->value_name("N"),
      "epochs and validations end after N batches: --set data.limit_batches=N and data.validation_limit_batches=N");
  add("processes", po::value<int64_t>()->value_name("N"),
      "train with N processes on this machine: --set distributed.processes=N");
  add("resume", po::value<std::string>()->value_name("WHERE"),
      "go on from a checkpoint: auto (the newest run of this name unless it has finished; else begin), latest (its "
      "newest checkpoint), best (its best one), or the folder of a checkpoint or of a run");
  add("restarts", po::value<int64_t>()->value_name("N"),
      "where a process is killed, crashes or hangs, start all again from the newest checkpoint, N times at most");
  add("trace", po::value<std::string>()->value_name("steps=FROM..TO"),
      "write what happens when in these steps, the first of which is 1, into trace.json of the run's folder");
  add("quiet", "print nothing but warnings and errors");
  add("verbose", "print to standard error what goes into log.txt");
  add("log-format", po::value<std::string>()->value_name("FORMAT")->default_value("text"),
      "what is printed: text, or json, an object a line");
  add("dry-run",
      "one step, one batch of each validation and one checkpoint, in a folder that is removed: does it run?");
  add("help,h", "print this and stop");
  add("version", "print the versions of the host, LibTorch and the plugin ABI, and stop");
  return options;
}

po::options_description make_show_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("json", "print JSON");
  add("markdown", "describe: print a section of a Markdown document");
  add("ports", "describe: also ports, fields and figures; loads the plugin and creates the component");
  add("load", "load the plugins, which runs code of theirs, and not read the notes in their files");
  add_plugin_directory_option(options);
  return options;
}

po::options_description make_note_options() {
  po::options_description options = empty_options();
  options.add_options()("objcopy", po::value<std::string>()->value_name("PROGRAM")->default_value("objcopy"),
                        "the program that adds a section to the file");
  return options;
}

po::options_description make_schema_options() {
  po::options_description options = empty_options();
  add_plugin_directory_option(options);
  return options;
}

po::options_description make_no_options() { return empty_options(); }

po::options_description make_validate_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("json", "print JSON");
  add("params", po::value<std::vector<std::string>>()->value_name("KIND.ID=TABLE")->composing(),
      "create a component with these parameters, e.g. --params 'model.mlp={ hidden = [64] }'; may be repeated");
  add("component", po::value<std::string>()->value_name("KIND.ID"), "make this component's checks only");
  add("check", po::value<std::string>()->value_name("NAME"), "make this check only; docs/validate.md lists them");
  add("seed", po::value<uint64_t>()->value_name("N")->default_value(0), "for the made-up inputs");
  add("timeout", po::value<double>()->value_name("SECONDS")->default_value(30, "30"), "for each call of the plugin");
  return options;
}

po::options_description make_data_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME")->default_value("train"),
      "which dataset: train, validation, or validation/NAME");
  add("seconds", po::value<double>()->value_name("N")->default_value(5, "5"),
      "how long the loader is timed; 0: not at all");
  add("step-ms", po::value<double>()->value_name("N")->default_value(0, "0"),
      "what a training step would take, which the consumer then sleeps");
  add("sheet", po::value<std::string>()->value_name("FILE.html"), "draw the first samples of an epoch into this page");
  add("samples", po::value<int64_t>()->value_name("N")->default_value(32), "how many samples the page has");
  add("json", "print JSON");
  return options;
}

po::options_description make_pack_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME"),
      "the dataset of the run file: train, validation or validation/NAME");
  add("out", po::value<std::string>()->value_name("DIR"), "the folder to make, or an empty one, for the shards");
  add("shard-bytes", po::value<std::string>()->value_name("SIZE")->default_value("256MiB"),
      "a shard has so many bytes at most (KiB, MiB, GiB), or one sample");
  add("shard-samples", po::value<int64_t>()->value_name("N"), "a shard has so many samples at most");
  add("shuffle", "write the samples in a random order, of run.seed");
  return options;
}

po::options_description make_evaluate_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME"),
      "which dataset: train, validation or validation/NAME; all validation data without it");
  add("json", "print JSON");
  return options;
}

po::options_description make_predict_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME"), "which dataset: train, validation or validation/NAME");
  add("output", po::value<std::string>()->value_name("FILE"), "the file to write, .csv or .safetensors");
  add("outputs", po::value<std::string>()->value_name("NAME,..."), "outputs of the model, or none; all without it");
  add("fields", po::value<std::string>()->value_name("NAME,..."), "fields of the dataset to write beside them");
  add("apply", po::value<std::vector<std::string>>()->value_name("[OUTPUT=]FUNCTION")->composing(),
      "write softmax, sigmoid or argmax of an output in its place; may be repeated");
  return options;
}

po::options_description make_overfit_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("samples", po::value<int64_t>()->value_name("N")->default_value(10),
      "how many samples are to be learnt by heart");
  add("steps", po::value<int64_t>()->value_name("N")->default_value(500), "how many steps it may take");
  add("threshold", po::value<double>()->value_name("LOSS")->default_value(0.01, "0.01"),
      "the loss that is to be fallen below");
  return options;
}

po::options_description make_lr_find_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("from", po::value<double>()->value_name("LR")->default_value(1e-7, "1e-7"), "the first learning rate");
  add("to", po::value<double>()->value_name("LR")->default_value(10, "10"), "the last one");
  add("steps", po::value<int64_t>()->value_name("N")->default_value(100), "how many steps lead from one to the other");
  add("json", "print JSON");
  return options;
}

po::options_description make_profile_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("batch-size", po::value<int64_t>()->value_name("N"), "samples in the batch; data.batch_size without it");
  add("repeats", po::value<int64_t>()->value_name("N")->default_value(20), "how many steps and evaluations are timed");
  add("depth", po::value<int64_t>()->value_name("N"), "show modules by so many parts of their names");
  add("json", "print JSON");
  return options;
}

po::options_description make_compare_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("vary", po::value<std::vector<std::string>>()->value_name("KEY=VALUE,...")->composing(),
      "run each file with each of these values; may be repeated, for all combinations");
  add("seeds", po::value<int64_t>()->value_name("N")->default_value(1),
      "run each of them N times, from run.seed on upwards");
  add("output", po::value<std::string>()->value_name("DIR"),
      "the folder for the runs and the table; compare/<time> in run.output_dir without it");
  add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE")->composing(),
      "override a key of all run files; may be repeated");
  add_plugin_directory_option(options);
  add("json", "print JSON");
  return options;
}

po::options_description make_verify_resume_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("processes", po::value<int64_t>()->value_name("N"), "with N processes on this machine");
  add("steps", po::value<int64_t>()->value_name("N")->default_value(24), "about how many steps the run in short has");
  add("kills", po::value<int64_t>()->value_name("N")->default_value(2), "how often it is killed and goes on");
  add("seed", po::value<uint64_t>()->value_name("N")->default_value(0), "of the steps and ranks that are killed");
  add("json", "print JSON");
  return options;
}

po::options_description make_checkpoint_options() {
  po::options_description options = empty_options();
  options.add_options()("json", "print JSON");
  return options;
}

po::options_description make_export_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("output", po::value<std::string>()->value_name("FILE"),
      "the file to write: .safetensors for the weights, .pt for the model as TorchScript");
  add("dtype", po::value<std::string>()->value_name("DTYPE"), "of the floating tensors: fp32, fp16 or bf16");
  add("data", po::value<std::string>()->value_name("NAME"),
      "for TorchScript: the dataset whose first batch the model is traced on; the first validation data without it");
  return options;
}

po::options_description make_runs_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("sort", po::value<std::string>()->value_name("FIGURE"),
      "the runs with the best of a figure first, such as validation/loss; the newest first without it");
  add("json", "print JSON");
  return options;
}

po::options_description make_report_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("output", po::value<std::string>()->value_name("FILE"),
      "the page to write; report.html in the folder of a single run without it");
  add("png", "the curves in plots/ as PNG too, drawn by rsvg-convert");
  return options;
}

}  // namespace tenon::host
