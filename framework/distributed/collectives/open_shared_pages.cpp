#include "framework/distributed/collectives/open_shared_pages.h"

#include <torch/types.h>

#include <exception>

namespace tenon::distributed {

namespace {

template <class Open>
std::unique_ptr<SharedPages> try_to(const Open& open) {
  try {
    return open();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<SharedPages> open_shared_pages(ProcessGroup& group, std::chrono::milliseconds timeout) {
  std::unique_ptr<SharedPages> pages;
  if (group.rank() == 0) pages = try_to([&] { return std::make_unique<SharedPages>(group.size(), timeout); });
  const std::string name = group.broadcast_string("shared memory", pages ? pages->name() : "");
  if (group.rank() > 0 && !name.empty())
    pages = try_to([&] { return std::make_unique<SharedPages>(name, group.rank(), group.size(), timeout); });
  const at::Tensor have = at::full({1}, pages ? 1 : 0, at::kLong);
  group.reduce(Reduction::minimum, have);
  return have.item<int64_t>() == 0 ? nullptr : std::move(pages);
}

}  // namespace tenon::distributed
