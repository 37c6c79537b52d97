#!/usr/bin/env python3
"""The recipes of docs/guide/production.md, each as far as it can be run on one machine."""
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import harness
import trace_reader

RECIPES = harness.ROOT / "recipes"
GEIGER = str(harness.BUILD / "bin" / "geiger")
PATIENCE = 60  # seconds; only what hangs takes that long


def yaml_of(name):
    try:
        import yaml
    except ImportError as error:
        raise unittest.SkipTest("no YAML parser") from error
    return yaml.safe_load((RECIPES / name).read_text())


def packages_of(objects):
    """Debian's packages of the libraries that these load, directly or not."""
    packages = set()
    for thing in objects:
        said = subprocess.run(["ldd", thing], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"=> (/\S+)", said):
            # /lib is a link to /usr/lib, and the database has either.
            plain = "/" + os.path.realpath(library).removeprefix("/usr/").lstrip("/")
            found = subprocess.run(["dpkg-query", "-S", plain, "/usr" + plain],
                                   capture_output=True, text=True).stdout
            packages.update(re.findall(r"(?m)^([^:\s]+)(?::\w+)?: ", found) or [library])
    return packages


def dependencies_of(packages):
    """With themselves, as far as they are installed here."""
    all_of_them, new = set(), set(packages)
    while new:
        all_of_them |= new
        said = subprocess.run(["dpkg-query", "-W", "-f", "${Depends},${Pre-Depends},", *sorted(new)],
                              capture_output=True, text=True).stdout
        new = set(re.findall(r"(?:^|[,|]) *([a-z0-9][a-z0-9.+-]*)", said)) - all_of_them
    return all_of_them


class Recipes(harness.ProcessTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="recipes-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def assert_sleeps(self, variables):
        """A program that is started with a recipe's variables can be called, once the paths
        in them are those of this machine."""
        traces, runtime = (os.path.join(self.directory, name) for name in ("traces", "runtime"))
        for path in (traces, runtime):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self.assertRegex(variables["LD_PRELOAD"], r"/lib/geiger/\$LIB/libgeiger-preload\.so$")
        self.assertTrue(variables.get("GEIGER_DIR", "/").startswith("/"))
        here = {**variables, "LD_PRELOAD": str(harness.preload_entry()), "GEIGER_DIR": traces,
                "XDG_RUNTIME_DIR": runtime, "GEIGER_INTERVAL": "4096"}
        program = subprocess.Popen(
            ["/usr/bin/python3", "-c", "import sys\nfor line in sys.stdin:\n"
             "    kept = [bytes(int(line)) for _ in range(100)]\n    print('ok', flush=True)\n"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=harness.environment([], here))
        def allocate():
            program.stdin.write("10000\n")
            program.stdin.flush()
            return program.stdout.readline()
        allocate()
        ctl = subprocess.Popen([GEIGER, "ctl", str(program.pid), "start", "--wait", f"{PATIENCE}s"],
                               stderr=subprocess.PIPE, text=True, env=harness.environment([]))
        while ctl.poll() is None:
            allocate()
        told = ctl.communicate()[1]
        program.communicate()
        self.assertEqual(ctl.returncode, 0, told)
        self.assertEqual(program.returncode, 0)
        (trace,) = pathlib.Path(traces).glob("*.geiger")
        trace_reader.read(trace).check()

    def test_systemd_unit(self):
        text = (RECIPES / "geiger.service").read_text()
        variables = dict(line.split("=", 1) for line in
                         re.findall(r'(?m)^Environment="?([^"\n]*)"?$', text))
        self.assert_sleeps(variables)
        if shutil.which("systemd-analyze"):
            verified = subprocess.run(["systemd-analyze", "verify", str(RECIPES / "geiger.service")],
                                      capture_output=True, text=True)
            self.assertNotIn("geiger.service", verified.stderr)
            self.assertEqual(verified.returncode, 0, verified.stderr)

    def test_units_of_the_agent(self):
        """Alone, and with the drop-in for turns, as systemd reads them."""
        text = (RECIPES / "geiger-agent.service").read_text()
        turns = (RECIPES / "geiger-agent-turns.conf").read_text()
        for line in re.findall(r"(?m)^ExecStart=/usr/bin/geiger (.+)$", text + turns):
            self.assert_agent_takes(line.replace("%%", "%").split()[1:])
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        units = pathlib.Path(self.directory, "units")
        (units / "geiger-agent.service.d").mkdir(parents=True)
        unit = units / "geiger-agent.service"
        # The program is the only thing that is not there.
        for drop_in in (False, True):
            unit.write_text(text.replace("/usr/bin/geiger", GEIGER))
            if drop_in:
                (units / "geiger-agent.service.d/turns.conf").write_text(
                    turns.replace("/usr/bin/geiger", GEIGER))
            verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True,
                                      text=True)
            self.assertNotIn("geiger-agent", verified.stderr)
            self.assertEqual(verified.returncode, 0, verified.stderr)

    def assert_agent_takes(self, words):
        """These are options of the agent, as far as it looks at them before it connects."""
        words = [re.sub("^(--watch=|--spool=)?/.*", rf"\g<1>{self.directory}", word)
                 for word in words]
        words = [re.sub("https://.*", "http://127.0.0.1:9/", word) for word in words]
        done = subprocess.run([GEIGER, "agent", *words, "--once", "--spool", self.directory],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^geiger: follows the traces in \S+ and sends to \S+\n$")

    def assert_is_agent(self, container, labels=()):
        """A container runs the agent's image, with what the image and the agent need."""
        image = (RECIPES / "agent.Dockerfile").read_text()
        self.assertIn(f"docker build -t {container['image']} -f recipes/agent.Dockerfile recipes",
                      image)
        self.assertIn('ENTRYPOINT ["geiger", "agent"]', image)
        mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        self.assertIn(re.search(r"STATE_DIRECTORY=(\S+)", image)[1], mounts)
        variables = {each["name"]: each for each in container["env"]}
        token = variables["GEIGER_TOKEN_FILE"]["value"]
        self.assertIn(os.path.dirname(token), mounts)
        for word in container["args"]:
            for name in re.findall(r"\$\((\w+)\)", word):
                path = variables[name]["valueFrom"]["fieldRef"]["fieldPath"]
                label = re.fullmatch(r"metadata\.labels\['(.+)'\]", path)
                self.assertTrue(label and label[1] in labels or
                                path in ("spec.nodeName", "metadata.name"), path)
            if word.startswith("--watch="):
                self.assertIn(word.removeprefix("--watch="), mounts)
        self.assert_agent_takes([re.sub(r"\$\(\w+\)", "name", word) for word in container["args"]])
        self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
        self.assertEqual(container["resources"]["limits"]["memory"], "128Mi")

    def test_daemonset(self):
        whole = yaml_of("daemonset.yaml")
        self.assertEqual((whole["apiVersion"], whole["kind"]), ("apps/v1", "DaemonSet"))
        template = whole["spec"]["template"]
        self.assertLessEqual(whole["spec"]["selector"]["matchLabels"].items(),
                             template["metadata"]["labels"].items())
        (agent,) = template["spec"]["containers"]
        self.assert_is_agent(agent, template["metadata"]["labels"])
        volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
        for mount in agent["volumeMounts"]:
            host = volumes[mount["name"]].get("hostPath")
            if "--watch=" + mount["mountPath"] in agent["args"]:
                self.assertEqual(host["path"], mount["mountPath"])  # As programs name it.
                self.assertTrue(mount["readOnly"])

    def test_sidecar(self):
        whole = yaml_of("sidecar.yaml")
        self.assertEqual((whole["apiVersion"], whole["kind"]), ("apps/v1", "Deployment"))
        template = whole["spec"]["template"]
        self.assertLessEqual(whole["spec"]["selector"]["matchLabels"].items(),
                             template["metadata"]["labels"].items())
        pod = template["spec"]
        program, agent = pod["containers"]
        self.assert_is_agent(agent, template["metadata"]["labels"])
        self.assertTrue(pod["shareProcessNamespace"])
        # Both see the traces and the page of sleeping programs, under the paths of the image.
        shared = [{mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
                  for container in (program, agent)]
        self.assertLessEqual(shared[0].items(), shared[1].items())
        image = self.image_variables()
        self.assertIn(image["GEIGER_DIR"], shared[0].values())
        self.assertIn(image["XDG_RUNTIME_DIR"], shared[0].values())
        self.assertIn({"name": "XDG_RUNTIME_DIR", "value": image["XDG_RUNTIME_DIR"]}, agent["env"])

    def image_variables(self):
        """Of the Dockerfile's image."""
        text = (RECIPES / "Dockerfile").read_text().replace("\\\n", " ")
        (env,) = re.findall(r"(?m)^ENV (.*)$", text)
        return dict(word.replace("\\$", "$").split("=", 1) for word in env.split()
                    if not word.startswith("PATH="))

    def test_dockerfile(self):
        self.assert_sleeps(self.image_variables())

    def test_dockerfile_installs_what_the_command_needs(self):
        """Names of Debian 12, so its package database answers."""
        release = pathlib.Path("/etc/os-release")
        if not release.exists() or "bookworm" not in release.read_text():
            self.skipTest("not Debian 12")
        root = harness.BUILD
        needed = packages_of([root / "bin" / "geiger", *root.glob("lib/geiger/libgeiger-*.so")])
        self.assertLess({"libzydis4.0", "libssl3"}, needed)
        for recipe in ("Dockerfile", "agent.Dockerfile"):
            listed = set(re.findall(r"\blib[\w.+-]+", re.search(
                r"apt-get install -y --no-install-recommends \\\n(.*?)\n &&",
                (RECIPES / recipe).read_text(), re.S)[1]))
            self.assertEqual(needed - dependencies_of(listed), set(), f"not in {recipe}")
            self.assertEqual(listed - needed, set(), f"in {recipe}, but not needed")

    def test_pod(self):
        pod = yaml_of("pod.yaml")
        self.assertEqual((pod["apiVersion"], pod["kind"]), ("v1", "Pod"))
        spec = pod["spec"]
        (program,) = spec["containers"]
        # The image that the Dockerfile says how to build.
        self.assertIn(f"docker build -t {program['image']} recipes",
                      (RECIPES / "Dockerfile").read_text())
        self.assertEqual([mount["name"] for mount in program["volumeMounts"]],
                         [volume["name"] for volume in spec["volumes"]])
        self.assertIn(self.image_variables()["GEIGER_DIR"],
                      [mount["mountPath"] for mount in program["volumeMounts"]])

    def test_ci_job(self):
        steps = yaml_of("ci.yaml")["jobs"]["memory"]["steps"]
        (check,) = [step["run"] for step in steps if "geiger check" in step.get("run", "")]
        check = check.replace("geiger check", f"'{GEIGER}' check", 1)
        for name in ("after", "before"):
            for n in (1, 2, 3):
                subprocess.run([GEIGER, "run", "-q", "-o", f"{name}.{n}.geiger", "--",
                                harness.host("loops"), "malloc+free", "100000"], check=True,
                               cwd=self.directory, env=harness.environment([]), timeout=PATIENCE)
            if name == "after":
                done = subprocess.run(check, shell=True, cwd=self.directory, capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("No baseline: nothing compared", done.stdout)
        done = subprocess.run(check, shell=True, cwd=self.directory, capture_output=True, text=True)
        self.assertNotIn("No baseline", done.stdout)
        self.assertIn(done.returncode, (0, 4), done.stderr)  # 4: too few samples to say.
        self.assertTrue(os.path.exists(os.path.join(self.directory, "memory.xml")))

    def test_comments(self):
        """The commands of both recipes that make a comment and send it, with a `gh` and a server here."""
        for name in ("before", "after"):
            for n in (1, 2, 3):
                subprocess.run([GEIGER, "run", "-q", "-o", f"{name}.{n}.geiger", "--", harness.host("loops"), "malloc+free",
                                "100000"], check=True, cwd=self.directory, env=harness.environment([]), timeout=PATIENCE)
        tools = pathlib.Path(self.directory, "bin")
        tools.mkdir()
        (tools / "geiger").symlink_to(GEIGER)
        (tools / "gh").write_text('#!/bin/sh\ncp "$5" posted.md\necho "$*" > said\n')
        (tools / "gh").chmod(0o755)
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "CHANGE": "7"}

        def run(command, **more):
            return subprocess.run(["sh", "-e", "-c", command], cwd=self.directory, check=True, timeout=PATIENCE,
                                  env={**environment, **more}, capture_output=True, text=True).stdout
        job = yaml_of("github-comment.yaml")["jobs"]["memory"]["steps"]
        for step in job:
            if step.get("name") in ("Compare", "Comment"):
                run(step["run"])
        posted = pathlib.Path(self.directory, "posted.md").read_text()
        self.assertIn("allocated", posted)
        self.assertEqual(posted.count("```"), 2)
        self.assertEqual(pathlib.Path(self.directory, "said").read_text().split()[:3], ["pr", "comment", "7"])
        self.assertEqual(json.loads(pathlib.Path(self.directory, "memory.sarif").read_text())["version"], "2.1.0")

        bodies = []

        class Api(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append((self.path, self.headers["PRIVATE-TOKEN"], self.rfile.read(int(self.headers["Content-Length"])).decode()))
                self.send_response(201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Api)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.handle_request, daemon=True).start()
        for command in yaml_of("gitlab-comment.yaml")["memory"]["script"]:
            if "git " not in command and "make " not in command and "geiger run" not in command:
                run(command, MEMORY_COMMENT_TOKEN="token", CI_API_V4_URL=f"http://127.0.0.1:{server.server_port}/api/v4",
                    CI_PROJECT_ID="1", CI_MERGE_REQUEST_IID="2")
        ((path, token, body),) = bodies
        self.assertEqual((path, token), ("/api/v4/projects/1/merge_requests/2/notes", "token"))
        self.assertIn(posted.strip(), body.replace("\r", ""))

    def test_limits_of_test_modules(self):
        """The recipe of docs/guide/python.md with a module that can be made to allocate more."""
        python = "/usr/bin/python3"
        if subprocess.run([python, "-c", "import pytest"], capture_output=True).returncode != 0:
            self.skipTest("pytest is not installed")
        page = (harness.ROOT / "docs/guide/python.md").read_text()
        conftest = re.search(r"```python\n(import geiger\nimport pytest\n.*?)```", page, re.S)[1]
        budget = re.search(r"```\n(max-bytes .*?)```", page, re.S)[1]
        self.assertTrue((RECIPES / "pytest/conftest.py").read_text().endswith(conftest))
        self.assertEqual(re.findall("(?m)^max.*", (RECIPES / "pytest/memory.budget").read_text()),
                         budget.splitlines())
        shutil.copytree(RECIPES / "pytest", self.directory, dirs_exist_ok=True)
        tests = pathlib.Path(self.directory, "tests")
        tests.mkdir()
        (tests / "test_orders.py").write_text(
            "import os\n\ndef test_many():\n"
            "    assert [bytearray(1 << 20) for _ in range(int(os.environ['ORDERS']))]\n")
        (tests / "test_reports.py").write_text(
            "import pytest\n\n@pytest.mark.slow\ndef test_slow():\n"
            "    assert bytearray(8 << 20)\n")
        (tests.parent / "pytest.ini").write_text("[pytest]\nmarkers = slow: takes long\n")
        block = re.search(r"```sh\n(export PYTHONPATH=.*?)```", page, re.S)[1]
        commands = block.replace("python3 -m pytest", f"{python} -m pytest -q -p no:cacheprovider")
        environment = {"PATH": os.path.dirname(GEIGER) + ":" + os.environ["PATH"],
                       "PYTHONDONTWRITEBYTECODE": "1"}
        for orders, code, failed in ((10, 0, []), (30, 3, ["module=tests/test_orders.py"])):
            done = subprocess.run(["sh", "-c", "rm -f run.geiger\n" + commands], cwd=self.directory,
                                  env=harness.environment([], {**environment, "ORDERS": str(orders)}),
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn("2 passed", done.stdout)
            self.assertEqual(re.findall(r"(?m)^fail .*MiB +(\S+) ", done.stdout), failed)
        pathlib.Path(self.directory, "typed").write_text("max-bytes 1GiB label module=nosuch\n")
        done = subprocess.run([GEIGER, "check", "--budget", "typed", "run.geiger"], cwd=self.directory,
                              capture_output=True, text=True)
        self.assertIn("typed:1: nothing was sampled within label 'module=nosuch'", done.stderr)
        # One limit for each label: the code of pytest itself has none.
        done = subprocess.run([GEIGER, "check", "--json", "--by", "label", "--max-bytes", "16MiB",
                               "run.geiger"], cwd=self.directory, capture_output=True, text=True)
        self.assertEqual(done.returncode, 3, done.stderr)
        names = {gate["name"] for gate in json.loads(done.stdout)["gates"]}
        self.assertIn("module=tests/test_orders.py", names)
        self.assertNotIn("module=tests/test_reports.py / marks=slow", names)

    def test_labels_of_mappings(self):
        """There are none."""
        subprocess.run([GEIGER, "run", "-q", "-o", "r.geiger", "--", harness.host("loops"),
                        "malloc+free", "1000"], check=True, cwd=self.directory,
                       env=harness.environment([]))
        for words in (["check", "--by", "label", "--max-bytes", "1MiB", "r.geiger"],
                      ["diff", "--by", "label", "r.geiger", "r.geiger"]):
            done = subprocess.run([GEIGER, *words, "--kind", "mapped"], cwd=self.directory,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("mappings have no", done.stderr)

    def test_before_an_oom_kill(self):
        """SIGKILL, as the kernel sends it, while memory grows."""
        # A busy machine looks late: what is kept waits for the snapshot and its mark.
        grow = ("import glob, os, time\nkept = []\n"
                "while len(kept) < 180:\n    kept.append(bytearray(4 << 20)); time.sleep(0.01)\n"
                f"end = time.monotonic() + {PATIENCE // 2}\n"
                "traces = lambda: glob.glob('geiger-python3.*/*.geiger')\n"
                "is_marked = lambda: any(b'rss+=256MiB' in open(path, 'rb').read(1 << 20)\n"
                "                        for path in traces())\n"
                "while time.monotonic() < end and not (len(traces()) > 1 and is_marked()):\n"
                "    bytearray(100000); time.sleep(0.01)\n"
                "os.kill(os.getpid(), 9)\n")
        environment = harness.environment([], {"PATH": os.path.dirname(GEIGER) + ":" +
                                               os.environ["PATH"]})
        done = subprocess.run([str(RECIPES / "oom.sh"), "/usr/bin/python3", "-c", grow],
                              cwd=self.directory, capture_output=True, text=True, env=environment,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        (run,) = pathlib.Path(self.directory).glob("geiger-python3.*")
        self.assertGreaterEqual(len(list(run.glob("*.geiger"))), 2)
        table = subprocess.run([GEIGER, "table", "--json", "--kind", "live", str(run)],
                               capture_output=True, text=True)
        self.assertEqual(table.returncode, 0, table.stderr)
        live = json.loads(table.stdout)["total"]["bytes"]
        self.assertGreaterEqual(live["hi"], 179 * 4 * harness.MIB)
        marks = subprocess.run([GEIGER, "marks", str(run)], capture_output=True, text=True).stdout
        self.assertIn("rss+=256MiB", marks)

    def test_after_an_oom_kill(self):
        """The kernel's own, by the limit of a cgroup that geiger is in too."""
        group = self.memory_group(96 * harness.MIB)
        script = (f"echo $$ > {group}/cgroup.procs\n"
                  f"exec '{GEIGER}' run -q -o r -- /usr/bin/python3 -c \"$1\"")
        grow = "kept = []\nwhile True: kept.append(b'.' * 1000000)"
        done = subprocess.run(["sh", "-c", script, "sh", grow], cwd=self.directory,
                              capture_output=True, text=True, timeout=PATIENCE,
                              env=harness.environment([]))
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        table = subprocess.run([GEIGER, "table", "--json", "--kind", "live", "r"],
                               cwd=self.directory, capture_output=True, text=True)
        self.assertEqual(table.returncode, 0, table.stderr)
        live = json.loads(table.stdout)["total"]["bytes"]
        self.assertGreater(live["lo"], 64 * harness.MIB)
        self.assertLess(live["value"], 112 * harness.MIB)

    def memory_group(self, limit):
        """A cgroup of either version with this limit; skips where none can be made."""
        for root, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                           ("/sys/fs/cgroup", "memory.max")):
            path = os.path.join(root, f"geiger-test-{os.getpid()}")
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.addCleanup(os.rmdir, path)
            try:
                pathlib.Path(path, file).write_text(str(limit))
                return path
            except OSError:
                continue
        self.skipTest("no cgroup with a limit can be made here")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_ld_so_preload(self):
        """In a mount namespace of its own: /etc is an overlay there."""
        for name in ("upper", "work", "merged", "runtime"):
            os.mkdir(os.path.join(self.directory, name), 0o700)
        script = (
            f"set -e; mount -t overlay overlay -o lowerdir=/etc,upperdir={self.directory}/upper,"
            f"workdir={self.directory}/work /etc || exit 77\n"
            f"echo '{harness.preload_entry()}' > /etc/ld.so.preload\n"
            "export GEIGER_INTERVAL=4096\n"
            f"export XDG_RUNTIME_DIR={self.directory}/runtime\n"
            "/bin/ls / > /dev/null\n"
            "GEIGER_MODE=off /bin/sh -c 'grep -c bell /proc/self/maps' || true\n"
            "/bin/sh -c 'grep -c /bell /proc/self/maps'\n")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                              env=harness.environment([]), timeout=PATIENCE)
        if done.returncode == 77:
            self.skipTest("no overlay here")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "0\n1\n", ""))


if __name__ == "__main__":
    unittest.main()
