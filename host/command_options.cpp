#include "host/command_options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::host {
namespace {

po::options_description empty_options() { return po::options_description("Options", 100, 60); }

void add_plugin_directory_option(po::options_description& options) {
  options.add_options()("plugin-dir", po::value<std::vector<std::string>>()->value_name("DIR")->composing(),
                        "search this folder for plugins first; may be repeated");
}

po::options_description run_file_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("config", po::value<std::string>()->value_name("FILE"), "run file (TOML); see configs/ for examples");
  add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE")->composing(),
      "override a key of the run file, e.g. --set train.epochs=3; may be repeated");
  add_plugin_directory_option(options);
  return options;
}

void add_checkpoint_option(po::options_description& options) {
  options.add_options()("checkpoint", po::value<std::string>()->value_name("PATH")->default_value("latest"),
                        "weights to load: a checkpoint folder, a run folder or a safetensors file; or latest or best "
                        "for that checkpoint of the newest run of this name");
}

}  // namespace

po::options_description make_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("check", "check the run file, its components and their connections, print the complete plan, and exit");
  add("limit-batches", po::value<int64_t>()->value_name("N"),
      "end each epoch and each validation after N batches; short for --set data.limit_batches=N and "
      "--set data.validation_limit_batches=N");
  add("processes", po::value<int64_t>()->value_name("N"),
      "train with N processes on this machine; short for --set distributed.processes=N");
  add("resume", po::value<std::string>()->value_name("WHERE"),
      "resume from a checkpoint: auto (the newest run of this name; a new run starts if it has finished or there is "
      "none), latest (the newest checkpoint of the newest run of this name), best (its best checkpoint), or the folder "
      "of a checkpoint or of a run");
  add("restarts", po::value<int64_t>()->value_name("N"),
      "if a process is killed, crashes or hangs, restart all processes from the newest checkpoint, at most N times");
  add("trace", po::value<std::string>()->value_name("steps=FROM..TO"),
      "write a timeline of these steps to trace.json in the run folder; the first step is 1");
  add("quiet", "print only warnings and errors");
  add("verbose", "print the lines of log.txt to standard error too");
  add("log-format", po::value<std::string>()->value_name("FORMAT")->default_value("text"),
      "output format: text, or json with one object per line");
  add("dry-run",
      "test the run: one step, one batch of each validation and one checkpoint, in a folder that is then removed");
  add("help,h", "print this help and exit");
  add("version", "print the versions of the host, LibTorch and the plugin ABI, and exit");
  add("prefix", "print the folder that Tenon is installed in, for CMAKE_PREFIX_PATH, and exit");
  return options;
}

po::options_description make_show_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("json", "print JSON");
  add("markdown", "describe: print Markdown");
  add("ports",
      "describe: also show inputs, outputs, fields and metric values; loads the plugin and creates the component");
  add("load", "load the plugins, which runs their code, instead of reading the notes in their files");
  add_plugin_directory_option(options);
  return options;
}

po::options_description make_note_options() {
  po::options_description options = empty_options();
  options.add_options()("objcopy", po::value<std::string>()->value_name("PROGRAM")->default_value("objcopy"),
                        "program that adds a section to the file");
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
  add("brief", "print only warnings, failures and the summary");
  add("params", po::value<std::vector<std::string>>()->value_name("KIND.ID=TABLE")->composing(),
      "create a component with these parameters, e.g. --params 'model.mlp={ hidden = [64] }'; may be repeated");
  add("component", po::value<std::string>()->value_name("KIND.ID"), "run only the checks of this component");
  add("check", po::value<std::string>()->value_name("NAME"), "run only this check; docs/validate.md lists them");
  add("seed", po::value<uint64_t>()->value_name("N")->default_value(0), "seed of the generated inputs");
  add("timeout", po::value<double>()->value_name("SECONDS")->default_value(30, "30"),
      "time limit for each call of the plugin");
  return options;
}

po::options_description make_data_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME")->default_value("train"),
      "dataset: train, validation or validation/NAME");
  add("seconds", po::value<double>()->value_name("N")->default_value(5, "5"),
      "how long to time the loader; 0 skips the timing");
  add("step-ms", po::value<double>()->value_name("N")->default_value(0, "0"),
      "simulated duration of a training step: the consumer sleeps this long per batch");
  add("sheet", po::value<std::string>()->value_name("FILE.html"), "render the first samples of an epoch to this page");
  add("samples", po::value<int64_t>()->value_name("N")->default_value(32), "number of samples on the page");
  add("json", "print JSON");
  return options;
}

po::options_description make_pack_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME"),
      "dataset of the run file: train, validation or validation/NAME");
  add("out", po::value<std::string>()->value_name("DIR"), "folder for the shards; must be new or empty");
  add("shard-bytes", po::value<std::string>()->value_name("SIZE")->default_value("256MiB"),
      "maximum size of a shard (KiB, MiB, GiB); a shard has at least one sample");
  add("shard-samples", po::value<int64_t>()->value_name("N"), "maximum number of samples in a shard");
  add("shuffle", "write the samples in random order, seeded with run.seed");
  return options;
}

po::options_description make_evaluate_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME"),
      "dataset: train, validation or validation/NAME; default: all validation data");
  add("json", "print JSON");
  return options;
}

po::options_description make_predict_options() {
  po::options_description options = run_file_options();
  add_checkpoint_option(options);
  auto add = options.add_options();
  add("data", po::value<std::string>()->value_name("NAME"), "dataset: train, validation or validation/NAME");
  add("output", po::value<std::string>()->value_name("FILE"), "output file: .csv or .safetensors");
  add("outputs", po::value<std::string>()->value_name("NAME,..."), "model outputs to write, or none; default: all");
  add("fields", po::value<std::string>()->value_name("NAME,..."), "dataset fields to write next to the outputs");
  add("apply", po::value<std::vector<std::string>>()->value_name("[OUTPUT=]FUNCTION")->composing(),
      "replace an output by its softmax, sigmoid or argmax; may be repeated");
  return options;
}

po::options_description make_overfit_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("samples", po::value<int64_t>()->value_name("N")->default_value(10), "number of samples to overfit");
  add("steps", po::value<int64_t>()->value_name("N")->default_value(500), "maximum number of steps");
  add("threshold", po::value<double>()->value_name("LOSS")->default_value(0.01, "0.01"),
      "stop when the loss falls below this");
  return options;
}

po::options_description make_lr_find_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("from", po::value<double>()->value_name("LR")->default_value(1e-7, "1e-7"), "first learning rate");
  add("to", po::value<double>()->value_name("LR")->default_value(10, "10"), "last learning rate");
  add("steps", po::value<int64_t>()->value_name("N")->default_value(100),
      "number of steps from the first to the last learning rate");
  add("json", "print JSON");
  return options;
}

po::options_description make_profile_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("batch-size", po::value<int64_t>()->value_name("N"), "samples in the batch; default: data.batch_size");
  add("repeats", po::value<int64_t>()->value_name("N")->default_value(20), "number of timed steps and evaluations");
  add("depth", po::value<int64_t>()->value_name("N"),
      "depth of the module tree to show: the number of parts of a module's name");
  add("json", "print JSON");
  return options;
}

po::options_description make_compare_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("vary", po::value<std::vector<std::string>>()->value_name("KEY=VALUE,...")->composing(),
      "run each file with each of these values; may be repeated to run all combinations");
  add("seeds", po::value<int64_t>()->value_name("N")->default_value(1),
      "run each variant with N seeds, counting up from run.seed");
  add("output", po::value<std::string>()->value_name("DIR"),
      "folder for the runs and the table; default: compare/<time> in run.output_dir");
  add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE")->composing(),
      "override a key of all run files; may be repeated");
  add_plugin_directory_option(options);
  add("json", "print JSON");
  return options;
}

po::options_description make_verify_resume_options() {
  po::options_description options = run_file_options();
  auto add = options.add_options();
  add("processes", po::value<int64_t>()->value_name("N"), "train with N processes on this machine");
  add("steps", po::value<int64_t>()->value_name("N")->default_value(24),
      "approximate number of steps of the shortened run");
  add("kills", po::value<int64_t>()->value_name("N")->default_value(2), "how many times the run is killed and resumed");
  add("seed", po::value<uint64_t>()->value_name("N")->default_value(0),
      "seed that chooses the steps and ranks to kill");
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
      "output file: .safetensors for the weights, .pt for the model as TorchScript");
  add("dtype", po::value<std::string>()->value_name("DTYPE"),
      "dtype of the floating-point tensors: fp32, fp16 or bf16");
  add("data", po::value<std::string>()->value_name("NAME"),
      "for TorchScript: dataset that provides the batch for tracing; default: the first validation data");
  return options;
}

po::options_description make_runs_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("sort", po::value<std::string>()->value_name("METRIC"),
      "sort by the best value of a metric, such as validation/loss; default: newest first");
  add("json", "print JSON");
  return options;
}

po::options_description make_report_options() {
  po::options_description options = empty_options();
  auto add = options.add_options();
  add("output", po::value<std::string>()->value_name("FILE"),
      "page to write; default for a single run: report.html in its folder");
  add("png", "also write the curves in plots/ as PNG, rendered by rsvg-convert");
  return options;
}

}  // namespace tenon::host
