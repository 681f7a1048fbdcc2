// One process of a run: this very program with the same arguments, and an environment that says which rank it is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "framework/distributed/signal_inbox.h"
#include "framework/support/file_descriptor.h"

namespace tenon::distributed {

struct RankProcess {
  pid_t pid = -1;
  // What it writes to standard output and standard error; none where those are this process's own.
  support::FileDescriptor output;
  support::FileDescriptor errors;
};

struct RankStart {
  std::vector<std::string> arguments;  // with the program's name first
  std::vector<std::string> settings;   // "NAME=value", over this process's environment
  int listen_descriptor = -1;          // stays open in it; -1: none
  enum class Output { inherited, piped } output = Output::inherited;
};

// The process ends when the calling thread does, however that ends. Where its output is piped, its standard input is
// empty. Throws Error(internal) where it cannot be started.
RankProcess start_rank(const RankStart& start, const SignalInbox& signals);

}  // namespace tenon::distributed
