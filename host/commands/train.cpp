// `host --config run.toml`: trains the model of a run file.
#include <charconv>
#include <string>
#include <string_view>

#include "host/command_line/command.h"
#include "host/training/launch.h"
#include "host/training/run.h"

namespace tenon::host {

namespace {

void add_train_options(AddOption& add) {
  add_run_file_options(add);
  add("check",
      "check the run file, its components, their connections and the first batch, print the complete plan, and exit");
  add("limit-batches", integer_value("N"),
      "end each epoch, each validation and the test after N batches; short for --set data.limit_batches=N, --set "
      "data.validation_limit_batches=N and --set data.test_limit_batches=N");
  add("processes", text_value("N"),
      "train with N processes on this machine; short for --set distributed.processes=N. With MIN:MAX and --restarts, "
      "the run starts with MAX and may continue with fewer if processes are lost, but with at least MIN");
  add("resume", text_value("WHERE"),
      "resume from a checkpoint: auto (the newest run of this name; a new run starts if it has finished or there is "
      "none), latest (the newest checkpoint of the newest run of this name), best (its best checkpoint), or the folder "
      "of a checkpoint or of a run");
  add("restarts", integer_value("N"),
      "if a process is killed, crashes or hangs, restart all processes from the newest checkpoint, at most N times");
  add("trace", text_value("steps=FROM..TO"),
      "write a timeline of these steps to trace.json in the run folder; the first step is 1");
  add("quiet", "print only warnings and errors");
  add("verbose", "print the lines of log.txt to standard error too");
  add("log-format", text_value("FORMAT")->default_value("text"),
      "output format: text, or json with one object per line");
  add("dry-run",
      "test the run: one step, one batch of each validation and of the test data, and one checkpoint, in a folder "
      "that is then removed");
  // run_command() handles these.
  add("color", text_value("WHEN"),
      "colours of the output of any command: auto, the default (on a terminal, unless NO_COLOR is set), always or "
      "never");
  add("help,h", "print this help and exit");
  add("version", "print the versions of the host, LibTorch and the plugin ABI, and exit");
  add("prefix", "print the folder that Tenon is installed in, for CMAKE_PREFIX_PATH, and exit");
}

// Parses "4", or "2:4" with the least and the most processes.
void read_processes(const Arguments& arguments, TrainOptions& options) {
  if (!arguments.has("processes")) return;
  const std::string text = arguments.text("processes");
  const size_t colon = text.find(':');
  const auto parse = [&](size_t begin, size_t end) {
    int64_t number = 0;
    const auto read = std::from_chars(text.data() + begin, text.data() + end, number);
    if (read.ec != std::errc() || read.ptr != text.data() + end)
      arguments.refuse("--processes is \"" + text + "\"", "a number such as 4, or the least and the most such as 2:4");
    return number;
  };
  options.processes = parse(colon == std::string::npos ? 0 : colon + 1, text.size());
  const int64_t least = colon == std::string::npos ? options.processes : parse(0, colon);
  if (least < 1) arguments.refuse("--processes is " + text, "at least 1");
  if (least > options.processes)
    arguments.refuse("--processes is " + text,
                     "the least number first: " + std::to_string(options.processes) + ":" + std::to_string(least));
  if (least < options.processes) options.least_processes = least;
}

// --limit-batches and --processes are short for overrides.
void add_short_overrides(const Arguments& arguments, TrainOptions& options) {
  const auto add = [&](const char* key, int64_t value) {
    options.file.overrides.push_back(std::string(key) + "=" + std::to_string(value));
  };
  if (const int64_t limit = arguments.count("limit-batches", 1); limit > 0) {
    add("data.limit_batches", limit);
    add("data.validation_limit_batches", limit);
    add("data.test_limit_batches", limit);
  }
  read_processes(arguments, options);
  if (options.processes > 0) add("distributed.processes", options.processes);
}

// Parses "steps=10..20".
void read_trace(const Arguments& arguments, TrainOptions& options) {
  if (!arguments.has("trace")) return;
  const std::string text = arguments.text("trace");
  const char* const end = text.data() + text.size();
  const std::string_view prefix = "steps=", dots = "..";
  const char* at = text.starts_with(prefix) ? text.data() + prefix.size() : end;
  auto read = std::from_chars(at, end, options.first_traced_step);
  const bool has_dots = read.ec == std::errc() && std::string_view(read.ptr, end).starts_with(dots);
  if (has_dots) read = std::from_chars(read.ptr + dots.size(), end, options.last_traced_step);
  const bool is_range = has_dots && read.ec == std::errc() && read.ptr == end && options.first_traced_step >= 1 &&
                        options.last_traced_step >= options.first_traced_step;
  if (!is_range)
    arguments.refuse("--trace is \"" + text + "\"", "steps=FROM..TO such as steps=10..20, with 1 <= FROM <= TO");
}

void refuse_both(const Arguments& arguments, const std::string& a, const std::string& b, const char* reason = "") {
  if (arguments.has(a) && arguments.has(b))
    arguments.refuse("--" + a + " and --" + b + " are both given" + reason + "; choose one");
}

TrainOptions read_train_options(const Arguments& arguments) {
  refuse_both(arguments, "dry-run", "check");
  refuse_both(arguments, "resume", "dry-run", ", and a dry run keeps no files");
  refuse_both(arguments, "quiet", "verbose");
  TrainOptions options;
  options.file = arguments.run_file();
  options.is_check = arguments.has("check");
  options.is_dry_run = arguments.has("dry-run");
  options.is_quiet = arguments.has("quiet");
  options.is_verbose = arguments.has("verbose");
  options.logs_json = arguments.choice("log-format", {"text", "json"}) == "json";
  options.restarts = arguments.count("restarts", 0);
  options.resume = arguments.text("resume");
  options.command_line = arguments.command_line();
  if (arguments.has("resume") && options.resume.empty())
    arguments.refuse("--resume is empty", "auto, latest, best, or a folder");
  add_short_overrides(arguments, options);
  read_trace(arguments, options);
  return options;
}

int train(const Arguments& arguments) {
  const TrainOptions options = read_train_options(arguments);
  return options.is_check ? train_in_this_process(options, {}) : start_training(options);
}

}  // namespace

extern const Command train_command{.name = "",
                                   .needed = "--config FILE",
                                   .purpose = "train the model of a run file",
                                   .details =
                                       "Trains the model of the run file with components from plugins. Writes "
                                       "checkpoints, a history and a report to a new run folder.",
                                   .page = "reference/run_file.md",
                                   .add_options = add_train_options,
                                   .run = train};

}  // namespace tenon::host
