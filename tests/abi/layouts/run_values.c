/* The layout of the host extension in run_values.h, checked as in 1_0.c. It was added after version 1.0 and belongs to
 * no version: a plugin requests it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_RUN_VALUES, "tenon.run-values/1");

FROZEN(tenon_run_value, 24);
FIELD(tenon_run_value, name, 0, tenon_string);
FIELD(tenon_run_value, value, 16, double);

FROZEN(tenon_run_setting, 32);
FIELD(tenon_run_setting, key, 0, tenon_string);
FIELD(tenon_run_setting, value, 16, tenon_string);

SIZED(tenon_run_description, 48);
FIELD(tenon_run_description, name, 8, tenon_string);
FIELD(tenon_run_description, resumed_from, 24, tenon_string);
FIELD(tenon_run_description, flags, 40, uint32_t);
FIELD(tenon_run_description, stop_signal, 44, int32_t);

SIZED(tenon_run_values, 40);
FIELD(tenon_run_values, values, 8, tenon_status (*)(const tenon_run*, const tenon_run_value**, uint64_t*));
FIELD(tenon_run_values, settings, 16, tenon_status (*)(const tenon_run*, const tenon_run_setting**, uint64_t*));
FIELD(tenon_run_values, describe, 24, tenon_status (*)(const tenon_run*, tenon_run_description*));
FIELD(tenon_run_values, files, 32, tenon_status (*)(tenon_string, void*, void (*)(void*, tenon_string)));

SAME(TENON_RUN_TEMPORARY, 1);
