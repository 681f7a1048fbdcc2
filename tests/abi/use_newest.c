/* Every way to use the fields that add_version.sh appends, one per line. */
#include <tenon/tenon.h>

void assign_host(tenon_host* to, const tenon_host* from) { to->newest = from->newest; }
void assign_dataset(tenon_dataset* to, const tenon_dataset* from) { to->newest = from->newest; }
void assign_loss(tenon_loss* to, const tenon_loss* from) { to->newest = from->newest; }

tenon_host initialised_host = {.newest = 0};
tenon_dataset initialised_dataset = {.newest = 0};
tenon_loss initialised_loss = {.newest = 0};

int query_host(const tenon_host* theirs) { return TENON_HAS(theirs, tenon_host, newest); }
int query_dataset(const tenon_dataset* theirs) { return TENON_HAS(theirs, tenon_dataset, newest); }
int query_loss(const tenon_loss* theirs) { return TENON_HAS(theirs, tenon_loss, newest); }

uint64_t measure_host(void) { return offsetof(tenon_host, newest); }
uint64_t measure_dataset(void) { return offsetof(tenon_dataset, newest); }
uint64_t measure_loss(void) { return offsetof(tenon_loss, newest); }
