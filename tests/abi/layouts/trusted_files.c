/* The layout of the host extension in trusted_files.h, checked as in 1_0.c. It was added after version 1.0 and belongs
 * to no version: a plugin requests it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_TRUSTED_FILES, "tenon.trusted-files/1");

SIZED(tenon_trusted_files, 16);
FIELD(tenon_trusted_files, check, 8, tenon_status (*)(tenon_string));
