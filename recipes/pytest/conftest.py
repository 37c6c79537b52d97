"""Labels of the allocations of each test, for limits by module: docs/guide/python.md."""
import geiger
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    marks = ",".join(sorted({mark.name for mark in item.iter_markers()}))
    with geiger.label("module", item.nodeid.split("::")[0]):
        if marks:
            with geiger.label("marks", marks):
                yield
        else:
            yield
