// A command of `host`: what --help, the manual page and the completions say about it, its options and its action.
// Only this header includes Boost.Program_options.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::host {

namespace po = boost::program_options;
using AddOption = po::options_description_easy_init;  // add("name", value, "what it is for")

struct Command;

// A run file with the options that change what it says.
struct RunFile {
  std::filesystem::path config;
  std::vector<std::string> overrides;  // --set, in order
  std::vector<std::filesystem::path> plugin_directories;
};

// A file of `host export --output NAME.tenon` in place of a run file.
bool is_model_file(const std::filesystem::path& config);

// Appends the options that give a command this run file.
void append_options(const RunFile& file, std::vector<std::string>& words);

// The parsed options and positional arguments of a command.
class Arguments {
 public:
  Arguments(const Command& command, po::variables_map options, std::vector<std::string> positional,
            std::vector<std::string> command_line)
      : command_(command),
        options_(std::move(options)),
        positional_(std::move(positional)),
        command_line_(std::move(command_line)) {}

  // Whether the option is given or has a default.
  bool has(const std::string& option) const { return options_.count(option) > 0; }

  bool is_given(const std::string& option) const { return has(option) && !options_[option].defaulted(); }

  // The value of an option, or `otherwise` if it is not given and has no default.
  template <class T>
  T get(const std::string& option, T otherwise = {}) const {
    return has(option) ? options_[option].as<T>() : otherwise;
  }
  std::string text(const std::string& option) const { return get<std::string>(option); }
  std::vector<std::string> texts(const std::string& option) const { return get<std::vector<std::string>>(option); }

  // An integer option of at least `least`, or `otherwise`. Refuses smaller numbers.
  int64_t count(const std::string& option, int64_t least, int64_t otherwise = 0) const;

  // One of these words. Refuses others.
  std::string choice(const std::string& option, const std::vector<std::string>& words) const;

  const std::vector<std::string>& positional() const { return positional_; }
  const std::vector<std::string>& command_line() const { return command_line_; }  // with the program
  bool wants_json() const { return has("json"); }
  RunFile run_file() const;
  std::vector<std::filesystem::path> plugin_directories() const;

  // Throws Error(configuration) "command line: ...; expected ...". `expected`: by default the usage of the command.
  [[noreturn]] void refuse(const std::string& what, const std::string& expected = "") const;

 private:
  const Command& command_;
  po::variables_map options_;
  std::vector<std::string> positional_;
  std::vector<std::string> command_line_;
};

// Throws Error(configuration): "command line: MESSAGE". MESSAGE is fmt::format(format, values...).
template <class... Values>
[[noreturn]] void throw_command_line_error(fmt::format_string<Values...> format, Values&&... values) {
  throw support::Error(support::ErrorKind::configuration, "command line: {}",
                       fmt::format(format, std::forward<Values>(values)...));
}

// As Arguments::refuse(), for a command line that could not be parsed. `command`: null if none was found.
[[noreturn]] void refuse_command_line(const Command* command, const std::string& what, std::string expected = "");

// Returns "fp32, fp16 or bf16".
std::string join_choices(const std::vector<std::string>& words);

struct Command {
  const char* name;            // as typed: "lr-find", "checkpoint show"; empty: training
  const char* arguments = "";  // positional arguments, as in the usage: "FILE", "[DIR]", "RUN [RUN ...]", "A B"
  const char* needed = "";     // required options, as in the usage: "--config FILE"
  const char* purpose;         // one line without a subject: "list the runs in a folder"
  const char* details;         // complete sentences
  const char* page;            // page in docs/, which the reference of all commands links to
  void (*add_options)(AddOption& add) = [](AddOption&) {};  // none
  // Returns the exit code (docs/reference/exit_codes.md); throws support::Error.
  int (*run)(const Arguments& arguments);
  // Several processes, such as those of torchrun, would do the same work and write the same files.
  bool is_for_one_process = false;
  bool reads_model_files = false;  // --config may be a model file
};

// `width`: columns of the text that it prints.
po::options_description make_options(const Command& command, size_t width = 100);
using Option = boost::shared_ptr<po::option_description>;
std::vector<Option> options_of(const Command& command);
bool takes_value(const Option& option);
std::string placeholder_of(const Option& option);  // "FILE" for "FILE (=latest)"; "" if it takes no value

// The name that this program was started with: "host" or "tenon".
std::string program_name();

// Returns "host pack --config FILE --data NAME --output DIR [options]".
std::string usage_of(const Command& command);

// Parses the words after the command's name. `command_line`: all words, with the program. Throws Error(configuration)
// with the value found and the value expected.
Arguments parse_arguments(const Command& command, const std::vector<std::string>& words,
                          std::vector<std::string> command_line);

// The value of an option. `placeholder`: as --help shows it.
inline auto* text_value(const char* placeholder) { return po::value<std::string>()->value_name(placeholder); }
inline auto* integer_value(const char* placeholder) { return po::value<int64_t>()->value_name(placeholder); }
inline auto* number_value(const char* placeholder) { return po::value<double>()->value_name(placeholder); }
inline auto* texts_value(const char* placeholder) {  // of an option that may be repeated
  return po::value<std::vector<std::string>>()->value_name(placeholder)->composing();
}

// Options that several commands share: --config, --set and --plugin-dir; one each.
void add_run_file_options(AddOption& add);
void add_plugin_directory_option(AddOption& add);
void add_checkpoint_option(AddOption& add);
void add_json_option(AddOption& add);

}  // namespace tenon::host
