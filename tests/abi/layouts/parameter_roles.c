/* The layout of the extension in parameter_roles.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_PARAMETER_ROLES, "tenon.parameter-roles/1");
SAME(TENON_ROLE_METRIC, 1);
SAME(TENON_ROLE_CLASSES, 2);
SAME(TENON_ROLE_CHANNELS, 3);
SAME(TENON_ROLE_FEATURES, 4);
SAME(TENON_ROLE_VOCABULARY, 5);
SAME(TENON_ROLE_UNLABELLED, 16);

FIELD(tenon_parameter_role, parameter, 0, tenon_string);
FIELD(tenon_parameter_role, role, 16, uint32_t);
FIELD(tenon_parameter_role, reserved, 20, uint32_t);

SIZED(tenon_parameter_roles, 16);
FIELD(tenon_parameter_roles, roles, 8, tenon_status (*)(const tenon_parameter_role**, uint64_t*));
