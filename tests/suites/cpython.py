"""CPython's own tests, of Debian's interpreter, with an allocation for every object."""
import xml.etree.ElementTree

from conditions import require

PYTHON = "/usr/bin/python3.11"
MODULES = ("test_fork1 test_threading test_signal test_faulthandler test_posix test_mmap test_thread"
           " test_threading_local test_atexit test_dict test_list test_bytes test_ctypes"
           " test_resource test_threadsignals test_os test_subprocess"
           " test_multiprocessing_fork").split()


class CPython:
    """One module of CPython's test package; an outcome for each test method."""
    needs = "libpython3.11-testsuite"

    def __init__(self, module):
        self.name = f"cpython/{module}"
        self.module = module

    def run(self, surroundings):
        require(PYTHON, f"/usr/lib/python3.11/test/{self.module}.py")
        report = surroundings.directory / "report.xml"
        outcome = surroundings.run([PYTHON, "-m", "test", "-q", "--junit-xml", report, self.module],
                                   env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"})
        result = {"status": str(outcome.status)}
        if report.exists():
            for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
                result[case.get("name")] = outcome_of(case)
        return result


def outcome_of(case):
    tags = {child.tag for child in case}
    for tag in ("error", "failure", "skipped"):
        if tag in tags:
            return tag
    return case.get("result", "completed")


SUITES = [CPython(module) for module in MODULES]
