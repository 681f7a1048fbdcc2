#include "host/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "framework/support/error.h"
#include "framework/support/nearest_name.h"
#include "host/help/commands.h"

namespace tenon::host {

using support::Error;
using support::ErrorKind;

namespace {

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

[[noreturn]] void refuse(const std::string& what, const std::string& expected = "host --config FILE [options]") {
  throw Error(ErrorKind::configuration, "command line: " + what + "; expected " + expected + ", see host --help");
}

// Refuses an argument without an option. For `train.epochs=3` it suggests --set, for a file --config.
void refuse_standing_alone(const po::parsed_options& parsed, const po::options_description& known) {
  const auto& options = parsed.options;
  const auto alone =
      std::find_if(options.begin(), options.end(), [](const auto& one) { return one.position_key >= 0; });
  if (alone == options.end()) return;
  const std::string& argument = alone->value.front();
  const bool has_config =
      std::any_of(options.begin(), options.end(), [](const auto& one) { return one.string_key == "config"; });
  const bool can_train = known.find_nothrow("config", false) != nullptr;
  const bool is_setting = can_train && argument.find('=') != argument.npos;
  const bool is_file = can_train && !has_config && !argument.empty() && argument[0] != '-';
  std::string guess;
  if (is_setting || is_file)
    guess = std::string("; did you mean ") + (is_setting ? "--set " : "--config ") + argument + "?";
  if (const auto command = support::nearest_name(argument, command_words()); command && can_train)
    guess = "; did you mean host " + *command + "?";
  refuse("unexpected argument \"" + argument + "\"" + guess);
}

po::variables_map parse(int argc, const char* const* argv, const po::options_description& options) {
  po::variables_map given;
  try {
    // Abbreviations are not accepted: a later version could give them another meaning.
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    const auto parsed = po::command_line_parser(argc, argv).options(options).style(style).run();
    refuse_standing_alone(parsed, options);
    po::store(parsed, given);
    po::notify(given);
  } catch (const po::unknown_option& error) {
    refuse("unknown option " + error.get_option_name() +
           support::suggest_name(error.get_option_name(), option_names(options)));
  } catch (const po::error& error) {
    refuse(error.what());
  }
  return given;
}

void put_plugin_directories(const po::variables_map& given, CommandLine& line) {
  if (!given.count("plugin-dir")) return;
  for (const std::string& directory : given["plugin-dir"].as<std::vector<std::string>>())
    line.plugin_directories.emplace_back(directory);
}

// `words`: the number of words before the options.
CommandLine parse_show(CommandLine::Action action, int words, int argc, const char* const* argv) {
  CommandLine line;
  line.action = action;
  if (action == CommandLine::Action::describe) line.component = argv[words - 1];
  const po::variables_map given = parse(argc - words + 1, argv + words - 1, make_show_options());
  put_plugin_directories(given, line);
  if (given.count("json") && given.count("markdown")) refuse("--json and --markdown are both given; choose one");
  if (given.count("markdown") && action == CommandLine::Action::list_plugins)
    refuse("--markdown is an option of host describe; host plugins has --json");
  if (given.count("ports") && action == CommandLine::Action::list_plugins)
    refuse("--ports is an option of host describe");
  line.load = given.count("load") != 0;
  line.ports = given.count("ports") != 0;
  if (given.count("json")) line.format = CommandLine::Format::json;
  if (given.count("markdown")) line.format = CommandLine::Format::markdown;
  return line;
}

CommandLine parse_note(int argc, const char* const* argv) {
  CommandLine line;
  line.action = CommandLine::Action::note;
  line.file = argv[2];
  line.objcopy = parse(argc - 2, argv + 2, make_note_options())["objcopy"].as<std::string>();
  return line;
}

void put_run_file(const po::variables_map& given, CommandLine& line) {
  if (!given.count("config")) refuse("--config is missing");
  line.config = given["config"].as<std::string>();
  if (given.count("set")) line.overrides = given["set"].as<std::vector<std::string>>();
  put_plugin_directories(given, line);
}

// Parses the options that all commands with a run file share. `needed`: other required options, which `usage` shows.
po::variables_map parse_on_run_file(CommandLine::Action action, const po::options_description& options, int argc,
                                    const char* const* argv, CommandLine& line,
                                    std::initializer_list<const char*> needed = {}, const std::string& usage = "") {
  line.action = action;
  po::variables_map given = parse(argc - 1, argv + 1, options);
  for (const char* option : needed)
    if (!given.count(option)) refuse(std::string(argv[1]) + " has no --" + option, usage);
  put_run_file(given, line);
  return given;
}

CommandLine parse_data(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given = parse_on_run_file(CommandLine::Action::data, make_data_options(), argc, argv, line);
  if (given.count("json")) line.format = CommandLine::Format::json;
  if (given.count("sheet")) line.file = given["sheet"].as<std::string>();
  line.dataset = given["data"].as<std::string>();
  line.seconds = given["seconds"].as<double>();
  line.step_ms = given["step-ms"].as<double>();
  line.samples = given["samples"].as<int64_t>();
  if (!(line.seconds >= 0)) refuse("--seconds is " + std::to_string(line.seconds), "0 or more");
  if (!(line.step_ms >= 0)) refuse("--step-ms is " + std::to_string(line.step_ms), "0 or more");
  if (line.samples < 1) refuse("--samples is " + std::to_string(line.samples), "at least 1");
  return line;
}

CommandLine parse_validate(int argc, const char* const* argv) {
  CommandLine line;
  line.action = CommandLine::Action::validate;
  line.file = argv[2];
  const po::variables_map given = parse(argc - 2, argv + 2, make_validate_options());
  if (given.count("json")) line.format = CommandLine::Format::json;
  line.is_brief = given.count("brief") > 0;
  if (given.count("params")) line.params = given["params"].as<std::vector<std::string>>();
  if (given.count("component")) line.component = given["component"].as<std::string>();
  if (given.count("check")) line.check = given["check"].as<std::string>();
  line.seed = given["seed"].as<uint64_t>();
  line.timeout_s = given["timeout"].as<double>();
  if (!(line.timeout_s > 0))
    refuse("--timeout is " + std::to_string(line.timeout_s) + "; expected more than 0 seconds");
  return line;
}

// Parses a size in bytes, such as `256MiB`.
uint64_t parse_size(const std::string& option, const std::string& text) {
  const std::pair<const char*, uint64_t> units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}};
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  for (const auto& [name, bytes] : units) {
    const bool is_in_range = error == std::errc() && number > 0 && number <= UINT64_MAX / bytes;
    if (unit == name && is_in_range) return number * bytes;
  }
  refuse(option + " is " + text, "a size such as 256MiB");
}

CommandLine parse_pack(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::pack, make_pack_options(), argc, argv, line, {"config", "data", "out"},
                        "host pack --config FILE --data NAME --out DIR");
  line.dataset = given["data"].as<std::string>();
  line.output = given["out"].as<std::string>();
  line.shard_bytes = parse_size("--shard-bytes", given["shard-bytes"].as<std::string>());
  if (given.count("shard-samples")) {
    line.shard_samples = given["shard-samples"].as<int64_t>();
    if (line.shard_samples < 1) refuse("--shard-samples is " + std::to_string(line.shard_samples), "at least 1");
  }
  line.shuffle = given.count("shuffle") != 0;
  return line;
}

CommandLine parse_evaluate(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::evaluate, make_evaluate_options(), argc, argv, line);
  line.checkpoint = given["checkpoint"].as<std::string>();
  line.dataset = given.count("data") ? given["data"].as<std::string>() : "";
  if (given.count("json")) line.format = CommandLine::Format::json;
  return line;
}

// Splits "logits,values" into a list. "none" gives an empty list.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  if (text == "none") return parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

CommandLine parse_predict(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::predict, make_predict_options(), argc, argv, line,
                        {"config", "data", "output"}, "host predict --config FILE --data NAME --output FILE");
  line.checkpoint = given["checkpoint"].as<std::string>();
  line.dataset = given["data"].as<std::string>();
  line.output = given["output"].as<std::string>();
  if (given.count("outputs")) line.outputs = split_at_commas(given["outputs"].as<std::string>());
  if (given.count("fields")) line.fields = split_at_commas(given["fields"].as<std::string>());
  if (given.count("apply")) line.apply = given["apply"].as<std::vector<std::string>>();
  return line;
}

CommandLine parse_overfit(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::overfit, make_overfit_options(), argc, argv, line);
  line.samples = given["samples"].as<int64_t>();
  line.steps = given["steps"].as<int64_t>();
  line.threshold = given["threshold"].as<double>();
  if (line.samples < 1) refuse("--samples is " + std::to_string(line.samples), "at least 1");
  if (line.steps < 1) refuse("--steps is " + std::to_string(line.steps), "at least 1");
  return line;
}

CommandLine parse_lr_find(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::find_learning_rate, make_lr_find_options(), argc, argv, line);
  line.first_rate = given["from"].as<double>();
  line.last_rate = given["to"].as<double>();
  line.steps = given["steps"].as<int64_t>();
  if (given.count("json")) line.format = CommandLine::Format::json;
  if (!(line.first_rate > 0 && line.last_rate > line.first_rate && line.last_rate <= 1e6))
    refuse("--from and --to are " + std::to_string(line.first_rate) + " and " + std::to_string(line.last_rate),
           "0 < from < to <= 1e6");
  if (line.steps < 2) refuse("--steps is " + std::to_string(line.steps), "at least 2");
  return line;
}

CommandLine parse_profile(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::profile, make_profile_options(), argc, argv, line);
  const auto read_count = [&](const std::string& option, int64_t& count) {
    if (!given.count(option)) return;
    count = given[option].as<int64_t>();
    if (count < 1) refuse("--" + option + " is " + std::to_string(count), "at least 1");
  };
  read_count("batch-size", line.batch_size);
  read_count("repeats", line.repeats);
  read_count("depth", line.depth);
  if (given.count("json")) line.format = CommandLine::Format::json;
  return line;
}

CommandLine parse_compare(int argc, const char* const* argv) {
  CommandLine line;
  line.action = CommandLine::Action::compare;
  line.arguments.assign(argv, argv + argc);
  int first_option = 2;
  for (; first_option < argc && argv[first_option][0] != '-'; ++first_option)
    line.configs.emplace_back(argv[first_option]);
  if (line.configs.empty())
    refuse("compare has no run file", "host compare FILE... [--vary KEY=VALUE,...] [--seeds N]");
  const po::variables_map given = parse(argc - first_option + 1, argv + first_option - 1, make_compare_options());
  if (given.count("set")) line.overrides = given["set"].as<std::vector<std::string>>();
  if (given.count("vary")) line.varied = given["vary"].as<std::vector<std::string>>();
  if (given.count("output")) line.output = given["output"].as<std::string>();
  if (given.count("json")) line.format = CommandLine::Format::json;
  line.seeds = given["seeds"].as<int64_t>();
  if (line.seeds < 1) refuse("--seeds is " + std::to_string(line.seeds), "at least 1");
  put_plugin_directories(given, line);
  return line;
}

CommandLine parse_checkpoint(int argc, const char* const* argv) {
  const std::vector<std::string> words{"show", "verify", "diff"};
  const std::string expected = "host checkpoint show PATH, host checkpoint verify PATH or host checkpoint diff A B";
  const std::string word = argc > 2 ? argv[2] : "";
  CommandLine line;
  if (word == "show")
    line.action = CommandLine::Action::show_checkpoint;
  else if (word == "verify")
    line.action = CommandLine::Action::verify_checkpoint;
  else if (word == "diff")
    line.action = CommandLine::Action::diff_checkpoints;
  else if (word.empty())
    refuse("checkpoint has no command", expected);
  else
    refuse("checkpoint " + word + " is not a command" + support::suggest_name(word, words), expected);
  const int paths = word == "diff" ? 2 : 1;
  for (int i = 3; i < 3 + paths; ++i)
    if (argc <= i || argv[i][0] == '-')
      refuse("checkpoint " + word + " has " + (i > 3 ? "one path" : "no path"), expected);
  line.file = argv[3];
  if (paths == 2) line.other_file = argv[4];
  const po::variables_map given = parse(argc - 2 - paths, argv + 2 + paths, make_checkpoint_options());
  if (given.count("json")) line.format = CommandLine::Format::json;
  return line;
}

// Counts the arguments before the options, starting at the `first`.
int count_words(int first, int argc, const char* const* argv) {
  int words = 0;
  while (first + words < argc && argv[first + words][0] != '-') ++words;
  return words;
}

CommandLine parse_runs(int argc, const char* const* argv) {
  CommandLine line;
  line.action = CommandLine::Action::list_runs;
  const int folders = std::min(count_words(2, argc, argv), 1);
  line.file = folders == 1 ? argv[2] : "runs";
  const po::variables_map given = parse(argc - 1 - folders, argv + 1 + folders, make_runs_options());
  if (given.count("sort")) line.sort = given["sort"].as<std::string>();
  if (given.count("json")) line.format = CommandLine::Format::json;
  return line;
}

CommandLine parse_report(int argc, const char* const* argv) {
  const char* const expected = "host report RUN [RUN ...] [--output FILE] [--png]";
  CommandLine line;
  line.action = CommandLine::Action::report;
  const int folders = count_words(2, argc, argv);
  if (folders == 0) refuse("report has no run", expected);
  line.runs.assign(argv + 2, argv + 2 + folders);
  const po::variables_map given = parse(argc - 1 - folders, argv + 1 + folders, make_report_options());
  if (given.count("output")) line.output = given["output"].as<std::string>();
  line.png = given.count("png") > 0;
  if (line.png && !line.output.empty())
    refuse("report has --png and --output; PNG files are written to plots/ in the folder of a single run",
           "host report RUN --png");
  if (folders > 1 && line.output.empty()) refuse("report of several runs has no --output", expected);
  return line;
}

CommandLine parse_export(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::export_weights, make_export_options(), argc, argv, line,
                        {"config", "output"}, "host export --config FILE --output FILE");
  line.checkpoint = given["checkpoint"].as<std::string>();
  line.output = given["output"].as<std::string>();
  line.dataset = given.count("data") ? given["data"].as<std::string>() : "";
  if (given.count("dtype")) {
    line.dtype = given["dtype"].as<std::string>();
    const std::vector<std::string> dtypes{"fp32", "fp16", "bf16"};
    if (std::find(dtypes.begin(), dtypes.end(), line.dtype) == dtypes.end())
      refuse("--dtype is \"" + line.dtype + "\"" + support::suggest_name(line.dtype, dtypes), "fp32, fp16 or bf16");
  }
  return line;
}

void put_processes(const po::variables_map& given, CommandLine& line) {
  if (!given.count("processes")) return;
  line.processes = given["processes"].as<int64_t>();
  if (line.processes < 1) refuse("--processes is " + std::to_string(line.processes), "at least 1");
  line.overrides.push_back("distributed.processes=" + std::to_string(line.processes));
}

// --limit-batches and --processes are short for overrides.
void put_short_overrides(const po::variables_map& given, CommandLine& line) {
  if (given.count("limit-batches")) {
    const int64_t limit = given["limit-batches"].as<int64_t>();
    if (limit < 1) refuse("--limit-batches is " + std::to_string(limit), "at least 1");
    for (const char* key : {"data.limit_batches=", "data.validation_limit_batches="})
      line.overrides.push_back(key + std::to_string(limit));
  }
  put_processes(given, line);
}

CommandLine parse_verify_resume(int argc, const char* const* argv) {
  CommandLine line;
  const po::variables_map given =
      parse_on_run_file(CommandLine::Action::verify_resume, make_verify_resume_options(), argc, argv, line);
  line.arguments.assign(argv, argv + argc);
  put_processes(given, line);
  line.steps = given["steps"].as<int64_t>();
  line.kills = given["kills"].as<int64_t>();
  line.seed = given["seed"].as<uint64_t>();
  if (given.count("json")) line.format = CommandLine::Format::json;
  if (line.steps < 4) refuse("--steps is " + std::to_string(line.steps), "at least 4");
  if (line.kills < 1) refuse("--kills is " + std::to_string(line.kills), "at least 1");
  return line;
}

void put_log(const po::variables_map& given, CommandLine& line) {
  line.is_quiet = given.count("quiet") != 0;
  line.is_verbose = given.count("verbose") != 0;
  if (line.is_quiet && line.is_verbose) refuse("--quiet and --verbose are both given; choose one");
  const std::string format = given["log-format"].as<std::string>();
  if (format != "text" && format != "json")
    refuse("--log-format is \"" + format + "\"" + support::suggest_name(format, {"text", "json"}), "text or json");
  if (format == "json") line.log_format = CommandLine::Format::json;
}

// Parses "steps=10..20".
void put_trace(const po::variables_map& given, CommandLine& line) {
  if (!given.count("trace")) return;
  const std::string text = given["trace"].as<std::string>();
  const char* const end = text.data() + text.size();
  const std::string_view prefix = "steps=", dots = "..";
  const char* at = text.starts_with(prefix) ? text.data() + prefix.size() : end;
  auto read = std::from_chars(at, end, line.first_traced_step);
  const bool has_dots = read.ec == std::errc() && std::string_view(read.ptr, end).starts_with(dots);
  if (has_dots) read = std::from_chars(read.ptr + dots.size(), end, line.last_traced_step);
  const bool is_range = has_dots && read.ec == std::errc() && read.ptr == end && line.first_traced_step >= 1 &&
                        line.last_traced_step >= line.first_traced_step;
  if (!is_range) refuse("--trace is \"" + text + "\"", "steps=FROM..TO such as steps=10..20, with 1 <= FROM <= TO");
}

CommandLine parse_schema(int argc, const char* const* argv) {
  CommandLine line;
  line.action = CommandLine::Action::schema;
  put_plugin_directories(parse(argc - 1, argv + 1, make_schema_options()), line);
  return line;
}

CommandLine parse_completion(int argc, const char* const* argv) {
  CommandLine line;
  line.action = CommandLine::Action::completion;
  if (argc < 3 || argv[2][0] == '-') refuse("completion has no shell", "host completion bash, zsh or fish");
  line.shell = argv[2];
  parse(argc - 2, argv + 2, make_no_options());
  return line;
}

CommandLine parse_manual(int argc, const char* const* argv) {
  CommandLine line;
  line.action = CommandLine::Action::manual;
  parse(argc - 1, argv + 1, make_no_options());
  return line;
}

// This comes before the check for required options: the command may be incomplete. `host help pack` shows help too.
bool requests_help(const std::vector<std::string>& words) {
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  return (!words.empty() && words[0] == "help") || std::any_of(words.begin(), words.end(), is_help);
}

CommandLine help_of(std::vector<std::string> words) {
  CommandLine line;
  line.action = CommandLine::Action::help;
  if (words[0] == "help") words.erase(words.begin());
  line.helped = std::move(words);
  return line;
}

// Parses `host` without a command: training, --check, --prefix or --version.
CommandLine parse_run(int argc, const char* const* argv) {
  const po::variables_map given = parse(argc, argv, make_options());
  CommandLine line;
  line.arguments.assign(argv, argv + argc);
  if (given.count("version")) {
    line.action = CommandLine::Action::version;
  } else if (given.count("prefix")) {
    line.action = CommandLine::Action::prefix;
  } else {
    line.action = given.count("check") ? CommandLine::Action::check : CommandLine::Action::train;
    put_run_file(given, line);
    line.is_dry_run = given.count("dry-run") != 0;
    if (line.is_dry_run && given.count("check")) refuse("--check and --dry-run are both given; choose one");
    put_short_overrides(given, line);
    put_log(given, line);
    put_trace(given, line);
    if (given.count("restarts")) line.restarts = given["restarts"].as<int64_t>();
    if (line.restarts < 0) refuse("--restarts is " + std::to_string(line.restarts), "0 or more");
    if (given.count("resume")) line.resume = given["resume"].as<std::string>();
    if (given.count("resume") && line.resume.empty()) refuse("--resume is empty", "auto, latest, best, or a folder");
    if (!line.resume.empty() && line.is_dry_run)
      refuse("--resume and --dry-run are both given, and a dry run keeps no files; choose one");
  }
  return line;
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (requests_help(words)) return help_of(words);
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "data") return parse_data(argc, argv);
  if (verb == "plugins") return parse_show(CommandLine::Action::list_plugins, 2, argc, argv);
  if (verb == "describe") {
    if (argc < 3 || argv[2][0] == '-') refuse("describe has no id", "host describe ID (host plugins lists them)");
    return parse_show(CommandLine::Action::describe, 3, argc, argv);
  }
  if (verb == "note") {
    if (argc < 3 || argv[2][0] == '-') refuse("note has no file", "host note FILE");
    return parse_note(argc, argv);
  }
  if (verb == "validate") {
    if (argc < 3 || argv[2][0] == '-') refuse("validate has no file", "host validate FILE");
    return parse_validate(argc, argv);
  }
  if (verb == "checkpoint") return parse_checkpoint(argc, argv);
  if (verb == "export") return parse_export(argc, argv);
  if (verb == "runs") return parse_runs(argc, argv);
  if (verb == "report") return parse_report(argc, argv);
  if (verb == "pack") return parse_pack(argc, argv);
  if (verb == "evaluate") return parse_evaluate(argc, argv);
  if (verb == "predict") return parse_predict(argc, argv);
  if (verb == "overfit") return parse_overfit(argc, argv);
  if (verb == "lr-find") return parse_lr_find(argc, argv);
  if (verb == "profile") return parse_profile(argc, argv);
  if (verb == "compare") return parse_compare(argc, argv);
  if (verb == "verify-resume") return parse_verify_resume(argc, argv);
  if (verb == "schema") return parse_schema(argc, argv);
  if (verb == "completion") return parse_completion(argc, argv);
  if (verb == "manual") return parse_manual(argc, argv);
  return parse_run(argc, argv);
}

}  // namespace tenon::host
