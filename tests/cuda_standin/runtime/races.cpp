#include "tests/cuda_standin/runtime/races.h"

#include <algorithm>

namespace tenon::standin {

void join(Clock& clock, const Clock& other) {
  for (const auto& [stream, number] : other) {
    uint64_t& known = clock[stream];
    known = std::max(known, number);
  }
}

void Races::split(const char* at) {
  auto range = ranges_.upper_bound(at);
  if (range == ranges_.begin()) return;
  --range;
  if (range->first == at || range->second.end <= at) return;
  Range second = range->second;
  range->second.end = at;
  ranges_.emplace(at, std::move(second));
}

std::string Races::add(const void* stream, const Clock& clock, const std::string& name,
                       const std::vector<Access>& accesses) {
  std::string race;
  const auto is_before = [&](const Stamp& stamp) {
    if (!stamp.stream || stamp.stream == stream) return true;
    const auto known = clock.find(stamp.stream);
    return known != clock.end() && known->second >= stamp.number;
  };
  const auto describe = [&](const Stamp& stamp, const char* what, bool is_written) {
    if (race.empty())
      race = std::string("race: ") + name + (is_written ? " writes" : " reads") + " memory that " + stamp.name + what +
             " on another stream, which it does not wait for";
  };
  const Stamp stamp{stream, clock.at(stream), name};
  for (const Access& access : accesses) {
    if (access.bytes == 0) continue;
    const char* const begin = static_cast<const char*>(access.begin);
    const char* const end = begin + access.bytes;
    split(begin);
    split(end);
    const char* next = begin;  // what is not yet covered by a range
    for (auto range = ranges_.lower_bound(begin); range != ranges_.end() && range->first < end; ++range) {
      if (range->first > next) {
        Range fresh{range->first, {}, {}};
        ranges_.emplace(next, fresh).first->second.reads =
            access.is_written ? std::vector<Stamp>{} : std::vector{stamp};
        if (access.is_written) ranges_[next].write = stamp;
      }
      Range& known = range->second;
      next = known.end;
      if (!is_before(known.write)) describe(known.write, " writes", access.is_written);
      if (!access.is_written) {
        const auto same = std::ranges::find(known.reads, stream, &Stamp::stream);
        if (same == known.reads.end())
          known.reads.push_back(stamp);
        else
          *same = stamp;
        continue;
      }
      for (const Stamp& read : known.reads)
        if (!is_before(read)) describe(read, " reads", true);
      known.write = stamp;
      known.reads.clear();
    }
    if (next < end) {
      Range& fresh = ranges_.emplace(next, Range{end, {}, {}}).first->second;
      if (access.is_written)
        fresh.write = stamp;
      else
        fresh.reads = {stamp};
    }
  }
  return race;
}

}  // namespace tenon::standin
