// Starts one rank: this program with the same arguments and an environment with its rank.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "framework/distributed/launch/signal_inbox.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::distributed {

struct RankProcess {
  pid_t pid = -1;
  // Pipes from its standard output and standard error; none if they are inherited.
  support::FileDescriptor output;
  support::FileDescriptor errors;
};

struct RankStart {
  std::vector<std::string> arguments;  // program name first
  std::vector<std::string> settings;   // "NAME=value"; they override the environment of this process
  int listen_descriptor = -1;          // stays open in the rank; -1: none
  enum class Output { inherited, piped } output = Output::inherited;
};

// The process ends when the calling thread ends for any reason. With piped output its standard input is empty. Throws
// Error(system) if the process cannot be started.
RankProcess start_rank(const RankStart& start, const SignalInbox& signals);

}  // namespace tenon::distributed
