#include "framework/distributed/collectives/process_group.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "framework/distributed/launch/failure_monitor.h"
#include "framework/distributed/launch/rendezvous.h"
#include "framework/support/compute/torch_versions.h"

namespace tenon::distributed {

using support::Error;
using support::ErrorKind;

namespace {

using namespace std::chrono_literals;

constexpr auto kCauseTimeout = FailureMonitor::kCauseTimeout;

// Interval at which a rank that waits for rank 0 checks for failures.
constexpr auto kPollInterval = 250ms;

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const c10::intrusive_ptr<c10d::Store>& store, const World& world,
                                                  const std::string& interface, std::chrono::milliseconds timeout,
                                                  c10::intrusive_ptr<c10d::Backend> nccl) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(world.is_one_machine() ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                                    : c10d::ProcessGroupGloo::createDeviceForInterface(interface));
  const int rank = static_cast<int>(world.rank);
  const int size = static_cast<int>(world.size);
  auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  if (nccl)
    group->setBackend(at::kCUDA, c10d::ProcessGroup::BackendType::NCCL, std::move(nccl));
  else
    group->setBackend(at::kCUDA, c10d::ProcessGroup::BackendType::GLOO, gloo);
  return group;
}

// Returns the error of a backend that communicates between devices, or an empty text.
std::string describe_error(c10d::Backend& backend) {
  switch (backend.getError()) {
    case c10d::ErrorType::SUCCESS: return "";
    case c10d::ErrorType::TIMEOUT: return "a collective of NCCL timed out";
    case c10d::ErrorType::REMOTE_ERROR: return "NCCL lost the connection to another rank";
    default: return "a collective of NCCL failed; NCCL_DEBUG=WARN prints its cause";
  }
}

c10d::ReduceOp to_c10d(Reduction reduction) {
  switch (reduction) {
    case Reduction::maximum: return c10d::ReduceOp::MAX;
    case Reduction::minimum: return c10d::ReduceOp::MIN;
    default: return c10d::ReduceOp::SUM;
  }
}

// Whether the reason for a failed wait is that time ran out, by the texts of gloo, of the store and of this module.
bool is_timeout(const std::string& reason) {
  constexpr std::array kTexts{"imed out", "imeout", "has not joined", "has not finished", "did not respond"};
  return std::ranges::any_of(kTexts, [&](const char* text) { return reason.find(text) != std::string::npos; });
}

// Returns the first line that differs between two texts, from both. "nothing more" replaces a missing line.
std::pair<std::string, std::string> first_difference(const std::string& left, const std::string& right) {
  std::istringstream lefts(left), rights(right);
  for (;;) {
    std::string a, b;
    const bool has_a = static_cast<bool>(std::getline(lefts, a));
    const bool has_b = static_cast<bool>(std::getline(rights, b));
    if (!has_a && !has_b) return {"", ""};
    if (!has_a || !has_b || a != b) return {has_a ? a : "nothing more", has_b ? b : "nothing more"};
  }
}

// Returns a checksum that detects nearly all differences: the sum of the elements' bits as integers.
at::Tensor checksum(const at::Tensor& tensor) {
  at::Tensor bits = tensor.detach();
  if (bits.is_complex()) bits = at::view_as_real(bits);
  switch (bits.element_size()) {
    case 8: bits = bits.view(at::kLong); break;
    case 4: bits = bits.view(at::kInt); break;
    case 2: bits = bits.view(at::kShort); break;
    default: bits = bits.scalar_type() == at::kBool ? bits.to(at::kByte) : bits.view(at::kByte); break;
  }
  if (!bits.is_non_overlapping_and_dense()) return bits.sum(at::kLong);
  // LibTorch first converts what it sums to int64, so it gets a part at a time. The order does not matter.
  constexpr int64_t kPart = 1 << 20;
  bits = bits.as_strided({bits.numel()}, {1});
  at::Tensor sum = bits.narrow(0, 0, std::min(kPart, bits.numel())).sum(at::kLong);
  for (int64_t start = kPart; start < bits.numel(); start += kPart)
    sum += bits.narrow(0, start, std::min(kPart, bits.numel() - start)).sum(at::kLong);
  return sum;
}

// Returns whether the store has the key within the time. Throws the store's exception if it cannot be reached.
bool has_come(c10d::Store& store, const std::string& key, std::chrono::milliseconds within) {
  try {
    store.wait({key}, within);
    return true;
  } catch (const std::exception&) {
    return store.check({key});
  }
}

}  // namespace

struct ProcessGroup::Parts {
  c10::intrusive_ptr<c10d::Store> store;
  std::unique_ptr<FailureMonitor> monitor;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  c10::intrusive_ptr<c10d::Backend> nccl;  // or null
};

ProcessGroup::ProcessGroup(const World& world, const config::DistributedSection& plan,
                           std::function<std::string()> describe_activity, const MakeBackend& make_nccl,
                           FindOverdueCall find_overdue_call)
    : world_(world), timeout_s_(plan.timeout_s), parts_(std::make_unique<Parts>()) {
  if (!world.is_one_machine() && plan.interface.empty())
    throw Error(ErrorKind::configuration,
                "distributed.interface: is not given, but the ranks are on several machines; expected the name of the "
                "network interface between them, as listed by `ip address`: interface = \"eth0\"");
  const std::chrono::milliseconds timeout(static_cast<int64_t>(plan.timeout_s * 1000));
  const Rendezvous rendezvous = connect_store(world, plan.interface, timeout);
  parts_->store = rendezvous.store;
  parts_->monitor = std::make_unique<FailureMonitor>(
      reconnect(world, rendezvous, timeout), world, timeout,
      FailureMonitor::Activity{std::move(describe_activity), std::move(find_overdue_call)});
  try {
    wait_for_all([&] {
      if (!parts_->monitor->wait_for_rank0(timeout)) throw Error(ErrorKind::rank_lost, "rank 0 has not joined the run");
      if (make_nccl)
        parts_->nccl = make_nccl(c10::make_intrusive<c10d::PrefixStore>("nccl", parts_->store),
                                 static_cast<int>(world.rank), static_cast<int>(world.size), timeout);
      parts_->group = make_group(parts_->store, world, plan.interface, timeout, parts_->nccl);
    });
  } catch (const Error&) {
    // There is no group to call report_failure() of. The store, and with it the reason, ends with rank 0.
    if (world.rank == 0) parts_->monitor->wait_until_received(kCauseTimeout);
    throw;
  }
  if (parts_->nccl) parts_->monitor->monitor_errors([nccl = parts_->nccl] { return describe_error(*nccl); });
}

ProcessGroup::ProcessGroup() = default;

ProcessGroup& ProcessGroup::single() {
  static ProcessGroup group;
  return group;
}

ProcessGroup::~ProcessGroup() {
  if (is_single()) return;
  // Gloo's destructor would wait for pending operations, which may never complete.
  if (has_failed_) {
    static_cast<void>(parts_->nccl.release());
    static_cast<void>(parts_->group.release());
    static_cast<void>(parts_->store.release());
    static_cast<void>(parts_->monitor.release());
    return;
  }
  parts_->monitor.reset();
  if (!parts_->nccl) return;
  try {
    parts_->nccl->shutdown();
  } catch (const std::exception&) {
    // All collectives have completed; only communicators remain, which end with the process.
  }
}

c10::intrusive_ptr<c10d::ProcessGroup> ProcessGroup::c10d() const { return parts_->group; }

void ProcessGroup::wait_for_all(const std::function<void()>& body) {
  parts_->monitor->set_waiting(true);
  try {
    body();
  } catch (const std::exception& error) {
    rethrow_as_lost(error);
  }
  parts_->monitor->set_waiting(false);
}

void ProcessGroup::rethrow_as_lost(const std::exception& error) {
  has_failed_ = true;
  FailureMonitor& monitor = *parts_->monitor;
  monitor.set_waiting(true);
  if (const auto failure = monitor.first_failure(kCauseTimeout / 2)) refuse_as_lost(*failure);
  const std::string missing = monitor.describe_missing(kCauseTimeout);
  // Another rank may have found the cause in the meantime.
  if (const auto failure = monitor.first_failure(0s)) refuse_as_lost(*failure);
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  std::string reason = of_torch ? of_torch->what_without_backtrace() : error.what();
  reason = reason.substr(0, reason.find('\n'));
  const std::string message =
      is_timeout(reason)
          ? fmt::format("timed out waiting for other ranks{}; the time limit is distributed.timeout_s = {} s ({})",
                        missing.empty() ? "" : ": " + missing, static_cast<int64_t>(timeout_s_), reason)
          : fmt::format("communication with another rank failed ({}){}", reason, missing.empty() ? "" : "; " + missing);
  monitor.report(message);
  refuse_as_lost(message);
}

void ProcessGroup::refuse_as_lost(const std::string& what) {
  lost_.emplace(ErrorKind::rank_lost, what);
  throw *lost_;
}

void ProcessGroup::Pending::wait() {
  if (wait_) std::exchange(wait_, nullptr)();
}

ProcessGroup::Pending ProcessGroup::start_reduce(Reduction reduction, at::Tensor tensor) {
  if (is_single()) return {};
  std::vector<at::Tensor> tensors{tensor};
  c10::intrusive_ptr<c10d::Work> work;
  wait_for_all([&] { work = parts_->group->allreduce(tensors, {to_c10d(reduction)}); });
  return Pending([this, work, tensor = std::move(tensor)] { wait_for_all([&work] { work->wait(); }); });
}

void ProcessGroup::reduce(Reduction reduction, at::Tensor tensor) { start_reduce(reduction, std::move(tensor)).wait(); }

ProcessGroup::Pending ProcessGroup::start_exchange(at::Tensor input, std::vector<int64_t> sent, at::Tensor output,
                                                   std::vector<int64_t> received) {
  c10::intrusive_ptr<c10d::Work> work;
  wait_for_all([&] { work = support::start_all_to_all(*parts_->group, output, input, received, sent); });
  return Pending(
      [this, work, input = std::move(input), output = std::move(output)] { wait_for_all([&work] { work->wait(); }); });
}

ProcessGroup::Pending ProcessGroup::start_broadcast(const std::vector<at::Tensor>& tensors, int64_t from) {
  if (is_single() || tensors.empty()) return {};
  const at::NoGradGuard no_grad;
  // Packs the tensors as bytes, the widest elements first, so that each tensor is aligned for its dtype.
  std::vector<at::Tensor> ordered = tensors;
  std::ranges::stable_sort(ordered, std::greater(), [](const at::Tensor& tensor) { return tensor.element_size(); });
  std::vector<at::Tensor> bytes;
  int64_t total = 0;
  for (const at::Tensor& tensor : ordered) {
    if (rank() == from) bytes.push_back(tensor.detach().reshape({-1}).view(at::kByte));
    total += static_cast<int64_t>(tensor.nbytes());
  }
  const at::Tensor packed = rank() == from ? at::cat(bytes) : at::empty({total}, ordered[0].options().dtype(at::kByte));
  std::vector<at::Tensor> message{packed};
  c10::intrusive_ptr<c10d::Work> work;
  c10d::BroadcastOptions options;
  options.rootRank = from;
  wait_for_all([&] { work = parts_->group->broadcast(message, options); });
  return Pending([this, from, work, packed, ordered = std::move(ordered)] {
    wait_for_all([&work] { work->wait(); });
    if (rank() == from) return;
    const at::NoGradGuard copying;
    int64_t place = 0;
    for (const at::Tensor& tensor : ordered) {
      const auto size = static_cast<int64_t>(tensor.nbytes());
      at::Tensor(tensor).copy_(packed.narrow(0, place, size).view(tensor.scalar_type()).view(tensor.sizes()));
      place += size;
    }
  });
}

// Gloo and NCCL gather only equal shapes, so rows are padded to the largest number of any rank.
at::Tensor ProcessGroup::concatenate(const at::Tensor& rows) {
  if (is_single()) return rows;
  const at::Tensor counts = at::zeros({size()}, at::TensorOptions(rows.device()).dtype(at::kLong));
  counts.select(0, rank()).fill_(rows.size(0));
  reduce(Reduction::sum, counts);
  wait_for_device(counts.device());
  const at::Tensor counts_here = counts.cpu();
  const int64_t* count = counts_here.const_data_ptr<int64_t>();
  const int64_t most = counts_here.max().item<int64_t>();
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = most;
  at::Tensor padded = at::zeros(shape, rows.options());
  padded.narrow(0, 0, rows.size(0)).copy_(rows);
  std::vector<std::vector<at::Tensor>> gathered(1);
  for (int64_t r = 0; r < size(); ++r) gathered[0].push_back(at::empty(shape, rows.options()));
  std::vector<at::Tensor> given{padded};
  wait_for_all([&] { parts_->group->allgather(gathered, given)->wait(); });
  wait_for_device(rows.device());
  for (int64_t r = 0; r < size(); ++r) {
    at::Tensor& of_rank = gathered[0][static_cast<size_t>(r)];
    of_rank = of_rank.narrow(0, 0, count[r]);
  }
  return at::cat(gathered[0]);
}

std::string ProcessGroup::broadcast_string(const std::string& name, const std::string& text) {
  if (is_single()) return text;
  // Each call has a separate key: a rank that is ahead of rank 0 must not read the text of an earlier call.
  const std::string key = "broadcast " + std::to_string(broadcasts_++) + " " + name;
  std::string given;
  wait_for_all([&] {
    if (rank() == 0) parts_->store->set(key, text);
    given = parts_->store->get_to_str(key);
  });
  return given;
}

std::vector<std::string> ProcessGroup::gather(const std::string& name, const std::string& bytes) {
  if (is_single()) return {bytes};
  const std::string key = "gather " + std::to_string(gathers_++) + " " + name + " of rank ";
  std::vector<std::string> texts;
  wait_for_all([&] {
    if (rank() > 0) {
      parts_->store->set(key + std::to_string(rank()), bytes);
      return;
    }
    texts.push_back(bytes);
    for (int64_t r = 1; r < size(); ++r) {
      texts.push_back(parts_->store->get_to_str(key + std::to_string(r)));
      parts_->store->deleteKey(key + std::to_string(r));
    }
  });
  return texts;
}

void ProcessGroup::require_equal(const std::string& what, const std::string& text) {
  if (is_single()) return;
  const std::string expected = broadcast_string("of rank 0: " + what, text);
  // Ranks with the same text also learn of the difference and end with the same message.
  at::Tensor differing = at::zeros({size()}, at::kLong);
  const auto key_of = [&](int64_t r) { return fmt::format("of rank {}: {}", r, what); };
  if (expected != text) {
    differing.select(0, rank()).fill_(1);
    const auto [first, here] = first_difference(expected, text);
    const std::string difference = fmt::format("\"{}\" where rank 0 has \"{}\"", here, first);
    wait_for_all([&] { parts_->store->set(key_of(rank()), difference); });
  }
  reduce(Reduction::sum, differing);
  const int64_t* differs = differing.const_data_ptr<int64_t>();
  for (int64_t r = 0; r < size(); ++r) {
    if (differs[r] == 0) continue;
    std::string difference;
    wait_for_all([&] { difference = parts_->store->get_to_str(key_of(r)); });
    barrier();  // the store ends with rank 0
    throw Error(ErrorKind::configuration,
                "{} of rank {} has {}; expected all ranks to run the same: give every one the same run file, command "
                "line and plugins",
                what, r, difference);
  }
}

std::optional<size_t> ProcessGroup::find_unequal(const std::vector<at::Tensor>& tensors) {
  if (is_single() || tensors.empty()) return std::nullopt;
  std::vector<at::Tensor> sums;
  for (const at::Tensor& tensor : tensors) sums.push_back(checksum(tensor));
  const at::Tensor here = at::stack(sums);
  // Maximum and negated minimum.
  const at::Tensor limits = at::stack({here, here.neg()});
  reduce(Reduction::maximum, limits);
  wait_for_device(limits.device());
  const at::Tensor differing = limits.select(0, 0).ne(limits.select(0, 1).neg()).nonzero().cpu();
  if (differing.numel() == 0) return std::nullopt;
  return static_cast<size_t>(*differing.const_data_ptr<int64_t>());
}

void ProcessGroup::set_waiting(bool waiting) { parts_->monitor->set_waiting(waiting); }

void ProcessGroup::wait_until(const std::function<bool()>& is_done) {
  // Short waits need no system call.
  constexpr int kSpins = 100;
  constexpr auto kPause = 100us;
  if (is_done()) return;
  FailureMonitor& monitor = *parts_->monitor;
  monitor.set_waiting(true);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s_);
  for (int i = 0; !is_done(); ++i) {
    if (i < kSpins) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(kPause);
    if (const auto error = monitor.communication_error()) rethrow_as_lost(std::runtime_error(*error));
    if (monitor.first_failure(0s) || std::chrono::steady_clock::now() > end)
      rethrow_as_lost(std::runtime_error("the device has not finished"));
  }
  monitor.set_waiting(false);
}

void ProcessGroup::wait_for_device(const c10::Device& device) {
  if (is_single() || device.is_cpu()) return;
  c10::Event event(device.type());
  event.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  wait_until([&event] { return event.query(); });
}

void ProcessGroup::barrier() {
  if (!is_single()) reduce(Reduction::sum, at::zeros({1}, at::kLong));
}

void ProcessGroup::rank0_first(const std::function<void()>& work) {
  if (is_single()) return work();
  const std::string turn = "turn " + std::to_string(turns_++);
  const std::string begins = turn + " begins", ends = turn + " ends";
  c10d::Store& store = *parts_->store;
  if (rank() == 0) {
    wait_for_all([&] { store.set(begins, std::string("1")); });
    work();
    wait_for_all([&] { store.set(ends, std::string("1")); });
    return;
  }
  wait_for_all([&] {
    store.wait({begins});
    wait_for_key(ends);
  });
}

// A broken connection throws. Otherwise the store reports failures of other ranks.
void ProcessGroup::wait_for_key(const std::string& key) {
  while (!has_come(*parts_->store, key, kPollInterval))
    if (const auto failure = parts_->monitor->first_failure(0s)) throw Error(ErrorKind::rank_lost, *failure);
}

void ProcessGroup::first_on_machine(const std::function<void()>& work) {
  if (is_single()) return work();
  if (world_.local_rank == 0) {
    // A rank that waits is not lost, however long it takes.
    set_waiting(true);
    work();
    set_waiting(false);
  }
  barrier_without_limit();
}

void ProcessGroup::barrier_without_limit() {
  if (is_single()) return;
  const std::string turn = "turn " + std::to_string(turns_++);
  const std::string ends = turn + " ends";
  wait_for_all([&] {
    if (parts_->store->add(turn, 1) == size()) parts_->store->set(ends, std::string("1"));
    wait_for_key(ends);
  });
}

bool ProcessGroup::report_failure(const std::string& message) noexcept {
  if (is_single()) return true;
  has_failed_ = true;
  const auto describe = [&](int64_t rank) { return "rank " + std::to_string(rank) + " has failed: " + message; };
  parts_->monitor->report(describe(rank()));
  const std::optional<std::string> first = parts_->monitor->first_failure(kCauseTimeout);
  if (rank() == 0) parts_->monitor->wait_until_received(kCauseTimeout);
  for (int64_t other = 0; other < size(); ++other)
    if (other != rank() && first == describe(other)) return false;
  return true;
}

}  // namespace tenon::distributed
