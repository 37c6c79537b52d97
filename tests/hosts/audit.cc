// An auditor of the loader (LD_AUDIT): it is told of every object and changes nothing.
#include <link.h>

#include <cstdint>
#include <cstdlib>

extern "C" {

unsigned int la_version(unsigned int version) { return version; }

unsigned int la_objopen(link_map*, Lmid_t, std::uintptr_t*) {
  void* block = malloc(1000);
  asm volatile("" : "+r"(block));
  free(block);
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
}
