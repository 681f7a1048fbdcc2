#include "framework/optimization/layer_depths.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tenon::optimization {
namespace {

struct Block {
  std::string name;
  bool has_number;
};

bool is_number(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Block block_of(const std::string& name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    if (is_number(std::string_view(name).substr(begin, end - begin))) return {name.substr(0, end), true};
    begin = end + 1;
  }
  return {name.substr(0, name.find('.')), false};
}

}  // namespace

std::vector<int64_t> layer_depths(const std::vector<std::string>& names) {
  std::vector<Block> blocks;
  for (const std::string& name : names) blocks.push_back(block_of(name));
  const bool has_numbers = std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.has_number; });
  std::vector<int64_t> depths;
  std::map<std::string, int64_t> known;
  int64_t deepest = -1;
  bool may_share = false;  // the previous block has no number
  for (const Block& block : blocks) {
    const auto [entry, is_new] = known.emplace(block.name, 0);
    if (is_new) {
      if (!(may_share && has_numbers && !block.has_number)) ++deepest;
      entry->second = deepest;
      may_share = !block.has_number;
    }
    depths.push_back(entry->second);
  }
  return depths;
}

}  // namespace tenon::optimization
