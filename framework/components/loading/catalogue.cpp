#include "framework/components/loading/catalogue.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "framework/components/calls/plugin_transforms.h"
#include "framework/components/loading/check_plugin.h"
#include "framework/components/loading/load_plugin.h"
#include "framework/components/loading/plugin_note.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/process/signals_blocked.h"

namespace tenon::components {
namespace {

namespace fs = std::filesystem;
using config::ComponentKind;
using config::ComponentName;
using config::ComponentSchema;
using support::Error;
using support::ErrorKind;

// A pin without a file protects nothing. Most likely its name is misspelt.
void require_pinned_files(const std::vector<fs::path>& files, const std::vector<config::PluginPin>& pins,
                          const std::string& search) {
  std::set<std::string> names;
  for (const fs::path& file : files) names.insert(file.filename().string());
  for (const config::PluginPin& pin : pins)
    if (!names.contains(pin.file))
      throw Error(ErrorKind::plugin,
                  "{}: plugins.sha256 names the file \"{}\", which was not found{} ({}); correct the name, or "
                  "remove it",
                  pin.place, pin.file, formats::suggest_name(pin.file, {names.begin(), names.end()}), search);
}

// On two threads, because reading the notes of 50 plugins takes several milliseconds. The error is that of the first
// file that has one.
std::vector<PluginFile> inspect_files(const std::vector<fs::path>& files, const std::vector<config::PluginPin>& pins) {
  const auto inspect = [&](size_t begin, size_t end) {
    std::vector<PluginFile> inspected;
    for (size_t i = begin; i < end; ++i) inspected.push_back(inspect_plugin_file(files[i], pins));
    return inspected;
  };
  constexpr size_t kWorthAThread = 8;
  const size_t middle = files.size() < kWorthAThread ? files.size() : files.size() / 2;
  std::future<std::vector<PluginFile>> second_half;
  if (middle < files.size()) {
    const support::SignalsBlocked signals_blocked;
    second_half = std::async(std::launch::async, inspect, middle, files.size());
  }
  std::vector<PluginFile> inspected = inspect(0, middle);
  if (second_half.valid()) std::ranges::move(second_half.get(), std::back_inserter(inspected));
  return inspected;
}

// Null if the file's note has no such component.
const ComponentSchema* find_in(const PluginFile& file, const ComponentName& name) {
  for (const ComponentSchema& schema : file.note->components)
    if (schema.kind == name.kind && schema.id == name.id) return &schema;
  return nullptr;
}

[[noreturn]] void throw_duplicate(const std::pair<const ComponentName, std::pair<fs::path, fs::path>>& duplicate) {
  const auto& [name, files] = duplicate;
  throw_in_two_plugins(name.kind, name.id, files.first, files.second);
}

}  // namespace

Catalogue::Catalogue(const std::vector<fs::path>& directories, const tenon_host& host, const std::string& torch_build)
    : directories_(directories), host_(&host), torch_build_(torch_build) {}

Catalogue Catalogue::look(const std::vector<fs::path>& directories, const tenon_host& host,
                          const std::string& torch_build, const std::vector<config::PluginPin>& pins) {
  Catalogue catalogue(directories, host, torch_build);
  const std::vector<fs::path> files = list_plugin_files(directories);
  require_pinned_files(files, pins, catalogue.describe_search());
  for (PluginFile& file : inspect_files(files, pins)) {
    if (!file.note) {
      catalogue.open_file(file, Duplicates::remember);
      continue;
    }
    // A plugin for another LibTorch must not load it into this process. It does not concern runs without its
    // components, as after a change of LibTorch.
    if (!fits_torch_build(file.note->torch_build, torch_build)) {
      catalogue.unfit_.push_back(std::move(file));
      continue;
    }
    require_fitting(file, *file.note, host, torch_build);
    for (const ComponentSchema& schema : file.note->components)
      catalogue.remember_duplicate({schema.kind, schema.id}, file.file);
    catalogue.closed_.push_back(std::move(file));
  }
  return catalogue;
}

void Catalogue::open_plugins_of(const std::vector<ComponentName>& components) {
  const auto is_used = [&](const PluginFile& file) {
    return std::ranges::any_of(file.note->components, [&](const ComponentSchema& schema) {
      return std::ranges::find(components, ComponentName{schema.kind, schema.id}) != components.end();
    });
  };
  std::vector<PluginFile> still_closed, used;
  for (PluginFile& file : closed_) (is_used(file) ? used : still_closed).push_back(std::move(file));
  closed_ = std::move(still_closed);
  for (const PluginFile& file : used) open_file(file, Duplicates::remember);
}

Catalogue Catalogue::open(const std::vector<fs::path>& directories, const tenon_host& host,
                          const std::string& torch_build, const std::vector<config::PluginPin>& pins) {
  Catalogue catalogue = look(directories, host, torch_build, pins);
  for (const PluginFile& file : catalogue.unfit_) require_torch_build(file.file, file.note->torch_build, torch_build);
  if (!catalogue.duplicates_.empty()) throw_duplicate(*catalogue.duplicates_.begin());
  for (const PluginFile& file : std::exchange(catalogue.closed_, {})) catalogue.open_file(file, Duplicates::refuse);
  return catalogue;
}

Catalogue Catalogue::survey(const std::vector<fs::path>& directories, const tenon_host& host,
                            const std::string& torch_build, std::vector<Refusal>& refusals) {
  Catalogue catalogue(directories, host, torch_build);
  for (const fs::path& file : list_plugin_files(directories)) {
    try {
      const PluginFile inspected = inspect_plugin_file(file);
      if (inspected.note) require_fitting(inspected, *inspected.note, host, torch_build);
      catalogue.open_file(inspected, Duplicates::refuse);
    } catch (const Error& error) {
      refusals.push_back({file, error.what()});
    }
  }
  return catalogue;
}

void Catalogue::open_file(const PluginFile& file, Duplicates duplicates) {
  LoadedPlugin plugin = load_plugin(file, *host_, torch_build_);
  if (file.note) require_same(file.file, *file.note, *plugin.info);
  // Adds all components of the plugin or none.
  for (const ComponentSchema& schema : plugin.info->components) {
    const ComponentName name{schema.kind, schema.id};
    if (duplicates == Duplicates::remember)
      remember_duplicate(name, file.file);
    else if (const fs::path* const owner = find_owner(name))
      throw_in_two_plugins(name.kind, name.id, *owner, file.file);
  }
  for (Component& component : plugin.components) {
    const ComponentName name{component.schema.kind, component.schema.id};
    if (name.kind == ComponentKind::transform) offer_transform(component);
    components_.emplace(name, std::move(component));
  }
  plugins_.push_back(std::move(plugin.info));
}

const fs::path* Catalogue::find_owner(const ComponentName& name) const {
  if (const auto known = components_.find(name); known != components_.end()) return &known->second.plugin->file;
  for (const PluginFile& closed : closed_)
    if (find_in(closed, name)) return &closed.file;
  return nullptr;
}

void Catalogue::remember_duplicate(const ComponentName& name, const fs::path& file) {
  if (const fs::path* const owner = find_owner(name)) duplicates_.try_emplace(name, *owner, file);
}

void Catalogue::require_single(const ComponentName& name) const {
  if (const auto duplicate = duplicates_.find(name); duplicate != duplicates_.end()) throw_duplicate(*duplicate);
}

const Component& Catalogue::find(ComponentKind kind, const std::string& id) const {
  require_single({kind, id});
  const auto found = components_.find({kind, id});
  if (found == components_.end())
    throw Error(ErrorKind::plugin, "no {} \"{}\"{} ({})", config::to_string(kind), id,
                formats::suggest_name(id, component_ids(kind)), describe_search());
  return found->second;
}

const ComponentSchema* Catalogue::find_schema(ComponentKind kind, const std::string& id) const {
  const ComponentName name{kind, id};
  require_single(name);
  if (const auto found = components_.find(name); found != components_.end()) return &found->second.schema;
  for (const PluginFile& file : closed_)
    if (const ComponentSchema* schema = find_in(file, name)) return schema;
  for (const PluginFile& file : unfit_)
    if (find_in(file, name)) require_torch_build(file.file, file.note->torch_build, torch_build_);
  return nullptr;
}

std::vector<std::string> Catalogue::component_ids(ComponentKind kind) const {
  std::vector<std::string> ids;
  for (const auto& [name, component] : components_)
    if (name.kind == kind) ids.push_back(name.id);
  for (const PluginFile& file : closed_)
    for (const ComponentSchema& schema : file.note->components)
      if (schema.kind == kind) ids.push_back(schema.id);
  std::erase_if(ids, [&](const std::string& id) { return duplicates_.contains({kind, id}); });
  std::ranges::sort(ids);
  return ids;
}

std::string Catalogue::describe_search() const { return components::describe_search(directories_); }

PluginsFound survey_notes(const std::vector<fs::path>& directories, const tenon_host& host,
                          const std::string& torch_build) {
  PluginsFound found;
  std::map<config::ComponentName, fs::path> owners;
  for (const fs::path& path : list_plugin_files(directories)) {
    try {
      const PluginFile file = inspect_plugin_file(path);
      if (!file.note) {
        found.without_note.push_back(path);
        continue;
      }
      const uint32_t abi = require_fitting(file, *file.note, host, torch_build);
      for (const ComponentSchema& component : file.note->components)
        if (const auto owner = owners.find({component.kind, component.id}); owner != owners.end())
          throw_in_two_plugins(component.kind, component.id, owner->second, path);
      for (const ComponentSchema& component : file.note->components)
        owners.emplace(config::ComponentName{component.kind, component.id}, path);
      found.plugins.push_back({*file.note, path, read_plugin_sha256(path), abi});
    } catch (const support::Error& error) {
      found.refusals.push_back({path, error.what()});
    }
  }
  return found;
}

}  // namespace tenon::components
