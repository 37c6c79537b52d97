#include <geiger/geiger.h>
#include <stdio.h>

int main(void) {
  geiger_recorder recorder;
  geiger_status status = geiger_get_status(&recorder);
  printf("%s, interposed %d, in memory %d\n", geiger_status_message(status),
         recorder.is_interposed, recorder.is_in_memory);
  return 0;
}
