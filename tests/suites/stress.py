"""Classes of stress-ng that live off the allocator, the process table or the address space."""
import re

from conditions import require

CLASSES = ("malloc fork vfork clone pthread sigsegv stack stackmmap bigheap brk mremap dynlib daemon"
           " context madvise mlock seccomp resources sigabrt bad-altstack tsearch").split()
SECONDS = 4


class Stress:
    """One class with --verify: its exit status, and whether it complained of anything."""
    needs = "stress-ng"

    def __init__(self, name):
        self.name = f"stress-ng/{name}"
        self.stressor = name

    def run(self, surroundings):
        require("stress-ng")
        outcome = surroundings.run(["stress-ng", f"--{self.stressor}", "2", "--timeout",
                                    str(SECONDS), "--verify"], timeout=120)
        said = outcome.stdout + outcome.stderr
        return {"status": str(outcome.status),
                "completed": str(b"successful run completed" in said),
                "failures": str(len(re.findall(rb"(?m)^stress-ng: (?:fail|error):", said)))}


SUITES = [Stress(name) for name in CLASSES]
