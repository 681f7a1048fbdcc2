#include "tests/fuzz/reference_program.h"

#include <fcntl.h>
#include <spawn.h>

#include <array>
#include <cstdio>
#include <map>

#include "framework/support/files/file_descriptor.h"

extern char** environ;

namespace tenon::fuzz {
namespace {

class ReferenceProgram {
 public:
  explicit ReferenceProgram(const std::string& format) {
    std::array<int, 2> in{}, out{};
    require(::pipe2(in.data(), O_CLOEXEC) == 0 && ::pipe2(out.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    require(posix_spawn_file_actions_init(&actions) == 0);
    require(posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO) == 0);
    require(posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO) == 0);
    const char* chosen = std::getenv("TENON_PYTHON");
    std::string python = chosen != nullptr ? chosen : "python3";
    std::string script = TENON_FUZZ_REFERENCE, name = format;
    std::array<char*, 4> arguments = {python.data(), script.data(), name.data(), nullptr};
    pid_t child = 0;
    require(::posix_spawnp(&child, python.c_str(), &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = support::FileDescriptor(in[1]);
    from_ = support::FileDescriptor(out[0]);
    works_ = read_answer() == "ready";
  }

  bool works() const { return works_; }

  std::string answer(Input input) {
    write(std::to_string(input.size()) + '\n' + std::string(as_text(input)));
    return read_answer();
  }

 private:
  // libFuzzer's timer interrupts calls.
  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto written =
          support::retry_interrupted([&] { return ::write(to_.number(), bytes.data(), bytes.size()); });
      require(written > 0);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  // Returns fewer bytes if the program has ended.
  std::string read(size_t size) const {
    std::string bytes(size, '\0');
    size_t have = 0;
    while (have < size) {
      const auto count =
          support::retry_interrupted([&] { return ::read(from_.number(), bytes.data() + have, size - have); });
      if (count <= 0) break;
      have += static_cast<size_t>(count);
    }
    bytes.resize(have);
    return bytes;
  }

  // A line with the number of bytes, and the bytes.
  std::string read_answer() const {
    std::string size;
    for (std::string digit = read(1); !digit.empty() && digit != "\n"; digit = read(1)) size += digit;
    return size.empty() ? "" : read(std::stoul(size));
  }

  support::FileDescriptor to_, from_;
  bool works_;
};

}  // namespace

std::optional<nlohmann::json> read_with_reference(const std::string& format, Input input) {
  static std::map<std::string, ReferenceProgram> programs;  // end with this process, which closes their input
  const auto [found, is_new] = programs.try_emplace(format, format);
  if (!found->second.works()) {
    if (is_new) std::fprintf(stderr, "the Python interpreter of TENON_PYTHON cannot read %s\n", format.c_str());
    return std::nullopt;
  }
  return nlohmann::json::parse(found->second.answer(input));
}

}  // namespace tenon::fuzz
