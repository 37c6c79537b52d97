/* How `geiger run` knows a static program that contains the runtime, and of which version. */
#include <elf.h>

#define NAME "geiger"

__attribute__((used, section(".note.geiger"), aligned(4))) static const struct {
  Elf64_Nhdr header;
  char name[(sizeof NAME + 3) / 4 * 4];
  char version[(sizeof GEIGER_VERSION + 3) / 4 * 4];
} note = {{sizeof NAME, sizeof GEIGER_VERSION, 1}, NAME, GEIGER_VERSION};
