#include "framework/support/diagnostics/timeline.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <thread>

namespace tenon::support {

TEST_CASE("spans of all threads are recorded while the timeline is on, with the names of the threads") {
  { const TimelineScope before("before"); }
  start_timeline();
  CHECK(is_timeline_on());
  {
    const TimelineScope outer("outer");
    std::thread other([] { const TimelineScope scope("other"); });
    other.join();
  }
  const Timeline timeline = stop_timeline();
  CHECK_FALSE(is_timeline_on());
  { const TimelineScope after("after"); }
  REQUIRE(timeline.spans.size() == 2);
  const TimelineSpan& other = timeline.spans[0];
  const TimelineSpan& outer = timeline.spans[1];
  CHECK(other.name == "other");
  CHECK(outer.name == "outer");
  CHECK(outer.thread == getpid());  // the first thread has the ID of the process
  CHECK(other.thread != outer.thread);
  CHECK(outer.start <= other.start);
  CHECK(other.end <= outer.end);
  REQUIRE(timeline.threads.size() == 2);
  CHECK_FALSE(timeline.threads[0].name.empty());
  start_timeline();
  CHECK(stop_timeline().spans.empty());
}

TEST_CASE("spans that start before or end after the recording are not recorded") {
  {
    const TimelineScope early("early");
    start_timeline();
  }
  {
    const TimelineScope late("late");
    CHECK(stop_timeline().spans.empty());
  }
  start_timeline();
  CHECK(stop_timeline().spans.empty());
}

}  // namespace tenon::support
