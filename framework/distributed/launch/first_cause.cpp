#include "framework/distributed/launch/first_cause.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "framework/distributed/launch/process_state.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {
namespace {

constexpr int kRankLost = static_cast<int>(support::ErrorKind::rank_lost);
constexpr int kSignalled = 128;

bool lost_other_rank(const RankEnd& end) { return end.signal == 0 && end.exit_code == kRankLost; }

bool was_stopped(const RankEnd& end) { return end.was_ended_by_launcher && is_stopped(end.state); }

// Recognises 130, 143 and so on: the exit codes of a host that was stopped by a signal.
bool stopped_in_order(const RankEnd& end) {
  return end.signal == 0 && (end.exit_code == kSignalled + SIGINT || end.exit_code == kSignalled + SIGTERM ||
                             end.exit_code == kSignalled + SIGHUP);
}

std::string name_signal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return (name ? std::string("SIG") + name : "a signal") + " (signal " + std::to_string(signal) + ")";
}

std::string describe(const RankEnd& end) {
  const std::string rank = "rank " + std::to_string(end.rank);
  if (was_stopped(end)) return rank + " does not answer; " + describe_process_state(end.state) + ", and was ended";
  if (end.signal == SIGKILL)
    return rank + " was ended by " + name_signal(end.signal) +
           ", which the kernel also sends when it runs out of memory";
  if (end.signal != 0) return rank + " was ended by " + name_signal(end.signal);
  if (lost_other_rank(end))
    return rank + " ended because a rank did not answer or was lost (exit code 6), see its message";
  return rank + " ended with exit code " + std::to_string(end.exit_code);
}

// Describes which of the other ranks ended by themselves and which ones the launcher killed.
std::string describe_others(const std::vector<RankEnd>& ends, const RankEnd& cause) {
  const size_t others = ends.size() - 1;
  if (others == 0) return "";
  std::vector<int64_t> ended;
  for (const RankEnd& end : ends)
    if (end.was_ended_by_launcher && end.rank != cause.rank) ended.push_back(end.rank);
  if (ended.empty()) return others == 1 ? "; the other ended by itself" : "; the others ended by themselves";
  if (ended.size() == others) return others == 1 ? "; the other was ended" : "; the others were ended";
  std::sort(ended.begin(), ended.end());
  std::string names;
  for (size_t i = 0; i < ended.size(); ++i)
    names += (i == 0 ? "" : i + 1 == ended.size() ? " and " : ", ") + std::to_string(ended[i]);
  return std::string("; rank") + (ended.size() == 1 ? " " : "s ") + names +
         (ended.size() == 1 ? ", which did not end by itself, was ended"
                            : ", which did not end by themselves, were ended");
}

template <class Is>
const RankEnd* find_first(const std::vector<RankEnd>& ends, const Is& is) {
  const auto found = std::find_if(ends.begin(), ends.end(), is);
  return found == ends.end() ? nullptr : &*found;
}

}  // namespace

bool ended_in_order(const RankEnd& end) { return (end.signal == 0 && end.exit_code == 0) || stopped_in_order(end); }

LaunchReport find_first_cause(const std::vector<RankEnd>& ends, int requested) {
  const RankEnd* const failed = find_first(ends, [&](const RankEnd& end) {
    const bool was_requested = end.signal != 0 && end.signal == requested;
    return !ended_in_order(end) && !lost_other_rank(end) && !end.was_ended_by_launcher && !was_requested;
  });
  // Every process has printed its error.
  const auto ended_like_first = [&](const RankEnd& end) {
    return end.signal == 0 && !end.was_ended_by_launcher && end.exit_code == ends.front().exit_code;
  };
  if (failed && ends.size() > 1 && std::all_of(ends.begin(), ends.end(), ended_like_first))
    return {failed->exit_code, ""};
  const auto explain = [&](const RankEnd& cause) { return describe(cause) + describe_others(ends, cause); };
  if (failed) return {failed->signal != 0 ? kRankLost : failed->exit_code, explain(*failed)};
  const bool all_finished =
      std::all_of(ends.begin(), ends.end(), [](const RankEnd& end) { return end.signal == 0 && end.exit_code == 0; });
  const RankEnd* const stopped_process = find_first(ends, was_stopped);
  if (requested != 0)
    return {all_finished ? 0 : kSignalled + requested, stopped_process ? explain(*stopped_process) : ""};
  if (stopped_process) return {kRankLost, explain(*stopped_process)};
  const RankEnd* const stopped = find_first(ends, stopped_in_order);
  const RankEnd* const lost = find_first(ends, lost_other_rank);
  if (stopped) return {stopped->exit_code, lost ? explain(*stopped) : ""};
  if (lost) return {kRankLost, explain(*lost)};
  return {};
}

}  // namespace tenon::distributed
