#include "framework/components/calls/call_monitor.h"

#include <doctest/doctest.h>
#include <pthread.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "framework/components/calls/guard.h"

using namespace std::chrono_literals;
using tenon::components::At;
using tenon::components::call_plugin;
using tenon::components::CallMonitor;
using tenon::components::Component;

namespace {

struct SlowComponent : Component {
  SlowComponent() {
    info.id = "slow";
    info.version = "1.0.0";
    schema.kind = tenon::config::ComponentKind::dataset;
    schema.id = "slow";
    plugin = &info;
  }
  tenon::components::PluginInfo info;
};

// A thread that calls a plugin. The call returns at the destruction of this object.
class HangingCall {
 public:
  explicit HangingCall(const Component& component, int64_t sample)
      : thread_([&component, sample, this] {
          pthread_setname_np(pthread_self(), "tenon-data-3");
          call_plugin(
              component, "get",
              [&] {
                has_begun_.set_value();
                may_return_.get_future().wait();
                return tenon_status{TENON_OK};
              },
              At{"train sample", sample});
        }) {
    has_begun_.get_future().wait();
  }
  ~HangingCall() {
    may_return_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> has_begun_;
  std::promise<void> may_return_;
  std::thread thread_;
};

std::vector<std::string> describe_due(CallMonitor& monitor) {
  std::vector<std::string> texts;
  for (const CallMonitor::LongCall& call : monitor.take_due()) texts.push_back(call.describe());
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a call that does not return is reported, and again each time its duration has doubled") {
  const SlowComponent component;
  const HangingCall call(component, 17);
  CallMonitor monitor(30s);
  monitor.update(1s);  // the call is new
  monitor.update(29s);
  CHECK(describe_due(monitor).empty());
  const std::string place = "dataset \"slow\" of plugin slow 1.0.0, function get, train sample 17";
  monitor.update(1s);
  CHECK(describe_due(monitor) == Texts{place + ", has not returned for 30 s (on thread tenon-data-3)"});
  CHECK(describe_due(monitor).empty());
  std::vector<int64_t> reported;
  for (int64_t s = 31; s <= 500; ++s) {
    monitor.update(1s);
    for (const auto& one : monitor.take_due()) reported.push_back(one.lasted / 1s);
  }
  CHECK(reported == std::vector<int64_t>{60, 120, 240, 480});
}

TEST_CASE("the calls of all threads are found, the longest first") {
  const SlowComponent component;
  CallMonitor monitor(10s);
  const HangingCall first(component, 1);
  monitor.update(0s);
  monitor.update(5s);
  const HangingCall second(component, 2);
  monitor.update(1s);
  monitor.update(9s);
  const auto found = monitor.find_calls(9s);
  REQUIRE(found.size() == 2);
  CHECK(found[0].place.ends_with("sample 1"));
  CHECK(found[0].seconds() == "15");
  CHECK(found[1].place.ends_with("sample 2"));
  CHECK(monitor.find_calls(10s).size() == 1);
  CHECK(monitor.find_calls(16s).empty());
}

TEST_CASE("calls that return are not long, however many there are") {
  const SlowComponent component;
  CallMonitor monitor(10s);
  const auto update = [&] {
    monitor.update(100s);
    return tenon_status{TENON_OK};
  };
  for (int64_t step = 0; step < 3; ++step) call_plugin(component, "forward", update, At{"step", step});
  // A nested call returns: the outer one makes progress.
  call_plugin(component, "forward", [&] {
    update();
    call_plugin(component, "forward of a function", update);
    return update();
  });
  CHECK(monitor.take_due().empty());
  CHECK(monitor.find_calls(0s).empty());
}

TEST_CASE("a thread that has ended has no call") {
  const SlowComponent component;
  CallMonitor monitor(10s);
  {
    const HangingCall call(component, 1);
    monitor.update(0s);
    monitor.update(20s);
    CHECK(monitor.find_calls(20s).size() == 1);
  }
  monitor.update(20s);
  CHECK(monitor.find_calls(0s).empty());
}

TEST_CASE("the opening of a plugin is found on the main thread") {
  CallMonitor monitor(10s);
  const tenon::components::ResultScope scope("plugins/slow.so");
  monitor.update(0s);
  monitor.update(10s);
  CHECK(describe_due(monitor) ==
        Texts{"the opening of plugins/slow.so, has not returned for 10 s (on the main thread)"});
}

TEST_CASE("the record of a thread is the one that a crash report shows") {
  const SlowComponent component;
  call_plugin(
      component, "forward",
      [&] {
        const tenon::components::Breadcrumb place = tenon::components::breadcrumb();
        CHECK(place.component == &component);
        CHECK(describe(place) == "dataset \"slow\" of plugin slow 1.0.0, function forward, step 3");
        return tenon_status{TENON_OK};
      },
      At{"step", 3});
  CHECK(tenon::components::breadcrumb().component == nullptr);
}
