/* Prints the replies of the plugin that is linked in to hosts of several versions: answers MINOR... */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const uint32_t newest = (1u << 16) | (uint32_t)atoi(arguments[i]);
    const tenon_offer offer = {.abi_min = 1u << 16, .abi_max = newest};
    tenon_reply reply = {0, 0, NULL};
    const tenon_status status = tenon_plugin_open(&offer, &reply);
    printf("host 1.%s: plugin %u.%u to %u.%u, status %d, %s\n", arguments[i], reply.abi_min >> 16,
           reply.abi_min & 0xFFFF, reply.abi_max >> 16, reply.abi_max & 0xFFFF, (int)status,
           reply.plugin ? "described" : "silent");
  }
  return 0;
}
