/* The description of the plugins in this folder, with the faults in it. */
#ifndef TENON_TESTS_DESCRIBE_H
#define TENON_TESTS_DESCRIBE_H

#include <locale.h>
#include <string.h>
#include <tenon/tenon.h>

#include "fault.h"

static const tenon_host* host;

static inline tenon_string text(const char* terminated) { return tenon_make_string(terminated, strlen(terminated)); }

static inline int is_id(tenon_string id, const char* known) {
  return id.size == strlen(known) && memcmp(id.data, known, id.size) == 0;
}

static inline tenon_status fail(const char* reason) { return host->fail(TENON_FAILED, text(reason)); }

/* Describes a plugin with one component, `kind.bad`, that has the parameter `items`. May write to `table`. */
static inline tenon_status describe(const tenon_offer* offer, tenon_reply* reply, uint32_t kind, void* table,
                                    const void* (*get_extension)(tenon_string id)) {
  static tenon_param items;
  static const tenon_param* params[1] = {&items};
  static tenon_component component;
  static const tenon_component* components[2] = {&component, &component};
  static tenon_plugin plugin;
  static const tenon_string unknown_operator = TENON_STRING("aten::no_such_operator");
  uint64_t table_size;
  host = offer->host;

  items.size = sizeof items;
  items.name = text("items");
  items.type = TENON_PARAM_INT;
  items.default_value = text("10");
  items.range = text("[1, 100]");
  items.doc = text("number of items");
  component.size = sizeof component;
  component.kind = kind;
  component.id = text("bad");
  component.doc = text("a component with one fault");
  component.params = params;
  component.param_count = 1;
  component.table = table;
  component.get_extension = get_extension;
  plugin.size = sizeof plugin;
  plugin.id = text("bad");
  plugin.version = text("0.1.0");
  plugin.license = text("MIT");
  plugin.doc = text("A plugin with one fault.");
  plugin.components = components;
  plugin.component_count = 1;

  switch (FAULT) {
    case ENTRY_THROWS: throw_exception(); break;
    case ENTRY_REFUSES: return fail("the dongle is not plugged in");
    case ENTRY_CHANGES_LOCALE: setlocale(LC_ALL, "C.UTF-8"); break;
    case SIZE_TRUNCATED: plugin.size = 40; break;
    case SIZE_HUGE: component.size = UINT64_C(1) << 63; break;
    case TABLE_TRUNCATED:
      table_size = 16;
      memcpy(table, &table_size, sizeof table_size);
      break;
    case COUNT_WITHOUT_LIST: plugin.components = NULL; break;
    case PARAM_IS_NULL: params[0] = NULL; break;
    case TEXT_WITHOUT_BYTES: plugin.doc.data = NULL; break;
    case TEXT_NOT_UTF8: plugin.doc = text("caf\xE9"); break;
    case ID_WITH_BLANK: component.id = text("bad id"); break;
    case FUNCTION_IS_NULL: memset((char*)table + 3 * sizeof(void*), 0, sizeof(void*)); break;
    case DEFAULT_OUT_OF_RANGE: items.default_value = text("0"); break;
    case OPERATOR_UNKNOWN:
      plugin.operators = &unknown_operator;
      plugin.operator_count = 1;
      break;
    case ID_TWICE: plugin.component_count = 2; break;
    case TRANSFORM_WITH_A_PATH:
      items.type = TENON_PARAM_PATH;
      items.default_value = text("\"list.txt\"");
      items.range = text("");
      break;
    default: break;
  }
  if (FAULT == ENTRY_GIVES_NOTHING) return tenon_answer(offer, reply, NULL);
  return tenon_answer(offer, reply, &plugin);
}

#endif
