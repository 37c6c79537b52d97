#include "runtime/python/memory.h"

#include <sys/uio.h>

#include "base/attributes.h"
#include "base/raw_syscall.h"

namespace geiger::python {

GEIGER_SLOW_PATH long Memory::own_pid() { return base::raw_syscall(SYS_getpid); }

GEIGER_SLOW_PATH bool Memory::ask_kernel(long pid, Address address, void* bytes,
                                         std::size_t count) {
  const iovec to{bytes, count};
  const iovec from{reinterpret_cast<void*>(address), count};
  const long got = base::raw_syscall(SYS_process_vm_readv, pid, reinterpret_cast<long>(&to), 1,
                                     reinterpret_cast<long>(&from), 1, 0);
  return got == static_cast<long>(count);
}

}  // namespace geiger::python
