/* The entry point of a plugin: one exported function, the ABI versions of both sides, and the description of the
 * plugin.
 *
 * Loading: the host calls tenon_plugin_open once, with the range of ABI versions that it supports. The plugin fills in
 * the reply. Both sides use the smaller of the two maximum versions. If that is below either minimum, the host rejects
 * the plugin and reports both ranges. The host checks every size, string, schema and table before it calls any other
 * function of the plugin. */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "called_operators.h"
#include "host.h"
#include "parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TENON_MODEL = 1,   /* table: tenon_model, model.h */
  TENON_DATASET = 2, /* table: tenon_dataset, dataset.h */
  TENON_LOSS = 3,    /* table: tenon_loss, loss.h */
  TENON_METRIC = 4,  /* table: tenon_metric, metric.h */
  TENON_CALLBACK = 5 /* table: tenon_callback, callback.h */
};

typedef struct tenon_component {
  uint64_t size;
  uint32_t kind; /* TENON_MODEL ... */
  uint32_t reserved;
  tenon_string id;  /* lower_snake_case, unique per kind in a run; `use` in the run file refers to it */
  tenon_string doc; /* one line */
  const tenon_param* const* params;
  uint64_t param_count;
  const void* table; /* function table of this kind, valid until the process ends */

  /* [any] Optional. Returns an additional table of the component by its id, such as TENON_SAVED_STATE, or null if it
   * has none with that id. The functions of that table take the same `self`. */
  const void* (*get_extension)(tenon_string id);
} tenon_component;
TENON_FREEZE(tenon_component, get_extension, 80);

typedef struct tenon_plugin {
  uint64_t size;
  tenon_string id;
  tenon_string version; /* version of the plugin, such as `1.4.0` */
  tenon_string license; /* an SPDX expression, such as `MIT` */
  tenon_string doc;     /* one line */
  const tenon_component* const* components;
  uint64_t component_count;
  /* empty for a portable plugin; otherwise the LibTorch build that the plugin was built with, see native_torch.h */
  tenon_string torch_build;

  /* Optional. The ATen operators that the plugin calls: `aten::linear`, or with an overload `aten::add.Tensor`. If the
   * host's LibTorch lacks one of them, the host rejects the plugin at load rather than in the middle of a run.
   * tenon_answer() adds those of tenon/ops. */
  const tenon_string* operators;
  uint64_t operator_count;
} tenon_plugin;
TENON_FREEZE(tenon_plugin, operator_count, 120);

/* Frozen permanently, so that any two versions can still report that they are incompatible. */
typedef struct tenon_offer {
  uint32_t abi_min;
  uint32_t abi_max;
  const tenon_host* host;
  tenon_string host_version;
} tenon_offer;

typedef struct tenon_reply {
  uint32_t abi_min;
  uint32_t abi_max;
  const tenon_plugin* plugin; /* valid until the process ends */
} tenon_reply;

TENON_STATIC_ASSERT(sizeof(tenon_offer) == 32, "tenon_offer is frozen");
TENON_STATIC_ASSERT(sizeof(tenon_reply) == 16, "tenon_reply is frozen");

#define TENON_ENTRY_SYMBOL "tenon_plugin_open"

/* [load] The only symbol that a plugin exports. */
typedef tenon_status (*tenon_plugin_open_function)(const tenon_offer* offer, tenon_reply* reply);
TENON_EXPORT tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply);

/* [load] Returns the description with the operators of called_operators.h after those that it lists. Returns null if
 * there is not enough memory. Returns the description itself if there are none to add, or if it is not that of these
 * headers, which the host reports. */
TENON_INLINE const tenon_plugin* tenon_add_called_operators(const tenon_plugin* plugin) {
  static tenon_plugin complete;
  static tenon_string* operators; /* kept for a second call */
  const char* name;
  uint64_t i, count = 0;
  for (name = tenon_next_called_operator(NULL); name; name = tenon_next_called_operator(name)) ++count;
  if (!plugin || count == 0 || plugin->size != sizeof complete || (plugin->operator_count > 0 && !plugin->operators))
    return plugin;
  if (!operators) operators = (tenon_string*)calloc(plugin->operator_count + count, sizeof *operators);
  if (!operators) return NULL;
  count = plugin->operator_count;
  for (i = 0; i < count; ++i) operators[i] = plugin->operators[i];
  for (name = tenon_next_called_operator(NULL); name; name = tenon_next_called_operator(name)) {
    const tenon_string called = tenon_make_string(name, strlen(name));
    for (i = 0; i < count; ++i)
      if (operators[i].size == called.size && operators[i].data && memcmp(operators[i].data, name, called.size) == 0)
        break;
    if (i == count) operators[count++] = called;
  }
  complete = *plugin;
  complete.operators = operators;
  complete.operator_count = count;
  return &complete;
}

/* [load] Implements tenon_plugin_open for a plugin in C. It replies with the versions from TENON_TARGET_ABI to the
 * version of these headers, and passes the plugin if the host supports one of them, with the operators that it calls
 * through tenon/ops. Otherwise it returns TENON_UNSUPPORTED. */
TENON_INLINE tenon_status tenon_answer(const tenon_offer* offer, tenon_reply* reply, const tenon_plugin* plugin) {
  reply->abi_min = TENON_TARGET_ABI;
  reply->abi_max = TENON_ABI_CURRENT;
  reply->plugin = NULL;
  if (offer->abi_max < reply->abi_min || reply->abi_max < offer->abi_min) return TENON_UNSUPPORTED;
  reply->plugin = tenon_add_called_operators(plugin);
  if (plugin && !reply->plugin) return offer->host->fail(TENON_FAILED, tenon_make_string("out of memory", 13));
  return TENON_OK;
}

#ifdef __cplusplus
}
#endif
#endif
