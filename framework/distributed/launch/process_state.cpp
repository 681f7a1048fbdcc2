#include "framework/distributed/launch/process_state.h"

#include <fstream>
#include <iterator>

namespace tenon::distributed {

char read_process_state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The program's name, in parentheses, may contain anything.
  const size_t name_end = text.rfind(')');
  return name_end != text.npos && name_end + 2 < text.size() ? text[name_end + 2] : 'Z';
}

std::string describe_process_state(char state) {
  const std::string letter = std::string("(state ") + state + ")";
  switch (state) {
    case 'T': return "it is stopped " + letter + ", as by SIGSTOP";
    case 't': return "a debugger has stopped it " + letter;
    case 'D': return "it waits for a disk or another device " + letter;
    case 'Z':
    case 'X': return "it has ended";
    default: return "it is running " + letter;
  }
}

}  // namespace tenon::distributed
