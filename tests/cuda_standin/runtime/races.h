// Finds accesses of device memory that are not ordered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda_standin/standin.h"

namespace tenon::standin {

// A vector clock (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978; Mattern, "Virtual
// Time and Global States of Distributed Systems", 1989): for each stream the number of the last work that is complete
// before what the clock belongs to.
using Clock = std::map<const void*, uint64_t>;

void join(Clock& clock, const Clock& other);

// Remembers the last write and the reads after it of each range of memory. Not safe for threads.
class Races final {
 public:
  // Returns a description of the first race of this work with earlier work; "": none. `clock`: that of `stream` with
  // this work.
  std::string add(const void* stream, const Clock& clock, const std::string& name, const std::vector<Access>& accesses);

 private:
  struct Stamp {
    const void* stream = nullptr;
    uint64_t number = 0;
    std::string name;
  };
  struct Range {
    const char* end;
    Stamp write;
    std::vector<Stamp> reads;  // of different streams
  };
  void split(const char* at);

  std::map<const char*, Range> ranges_;
};

}  // namespace tenon::standin
