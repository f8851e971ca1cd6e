"""Drives the program as a script would: every verb, its exit code, and its JSON against the schemas.

end_to_end.py BURNISH SOURCE_FOLDER timed|untimed

The untimed checks hold whatever else the machine does; the others need it quiet.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema

BURNISH, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SCHEMAS = {p.stem: json.loads(p.read_text()) for p in (SOURCE / "data/schemas").glob("*.json")}
CHECKED = set()


def run(*arguments, code=0, cwd=None):
    done = subprocess.run([BURNISH, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=600)
    assert done.returncode == code, f"{arguments}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}"
    return done


def ask(schema, *arguments, code=0):
    """Runs a verb with --json; stdout is exactly one JSON value of the schema's shape."""
    value = json.loads(run(*arguments, "--json", code=code).stdout)
    jsonschema.validate(value, SCHEMAS["error" if isinstance(value, dict) and "error" in value else schema], cls=jsonschema.Draft202012Validator)
    CHECKED.add(schema)
    return value


def git(folder, *arguments):
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout


TECHNIQUES = sorted((SOURCE / "data/knowledge/techniques").glob("*.md"))


def write_card(folder, source, name, title):
    """A card after one of burnish's own, with `title` before its title."""
    text = source.read_text().replace(f'id = "{source.stem}"', f'id = "{name}"', 1)
    (folder / f"{name}.md").write_text(text.replace('title = "', f'title = "{title}', 1))


def check_scratch(root):
    """The task of check_loop(), with its result passed through a scratch buffer and with a team's own cards."""
    task = root / "scratch-task"
    shutil.copytree(SOURCE / "tests/tasks/scale", task)
    kernel = (task / "kernel.cl").read_text().replace("float* restrict y,", "float* restrict y, __global float* t,")
    last = "for (; i < last; ++i) y[i] = x[i] * x[i] + 1.0f;"
    assert last in kernel
    (task / "kernel.cl").write_text(kernel.replace(last, "for (; i < last; ++i) y[i] = (t[i] = x[i] * x[i]) + 1.0f;"))
    launch = (task / "launch.toml").read_text().replace('{tensor = "y"},', '{tensor = "y"}, {scratch = "t"},')
    (task / "launch.toml").write_text('[[scratch]]\nname = "t"\nbytes = "4 * N"\n\n' + launch)
    (root / "cards").mkdir()
    for source in TECHNIQUES:
        write_card(root / "cards", source, source.stem, "Ours: ")
    with (task / "burnish.toml").open("a") as toml:
        toml.write('\n[knowledge]\ncards = ["../cards"]\n')
    work = root / "scratch"
    ask("init", "init", work, "--from", task)
    at = ["-C", work]
    ask("record", *at, "baseline")
    assert ask("evidence", *at, "profile")["kernels"][0]["findings"]
    ranked = ask("wiki", *at, "wiki", "for", work / "profiles/v0")["results"]
    assert ranked and all(hit["title"].startswith("Ours: ") and hit["origin"] for hit in ranked), ranked
    assert ask("wiki", *at, "wiki", "search", "vector")["results"][0]["title"].startswith("Ours: ")
    assert "Ours: " not in run("wiki", "search", "vector").stdout
    plan = ask("plan", *at, "plan")
    assert "Ours: " in (work / plan["file"]).read_text()
    ask("implement", *at, "implement", "--agent", "tuner")
    gate = json.loads(run(*at, "gate", "--json").stdout)
    assert gate["quality_gate"]["result"] == "PASS", gate["quality_gate"]


def check_loop(root):
    work = root / "w"
    ask("init", "init", work, "--from", SOURCE / "tests/tasks/scale")
    at = ["-C", work]
    assert ask("next", *at, "next")["stage"] == "baseline"
    error = ask("error", *at, "gate", code=2)["error"]
    assert "burnish baseline" in error["hint"], error
    assert not ask("lint", *at, "check", "--lint")["weaknesses"]
    ask("record", *at, "baseline")
    evidence = ask("evidence", *at, "profile")
    assert evidence["kernels"][0]["findings"], "a naive kernel without a finding"
    assert ask("next", *at, "next")["stage"] == "plan"
    template = run(*at, "plan", "--template").stdout
    assert template.startswith("+++\nversion = 1\n") and "card:ID" in template, template
    (root / "plan.md").write_text(template)
    refusal = ask("error", *at, "plan", "--check", root / "plan.md", code=1)["error"]["message"]
    assert "cites the card `ID`" in refusal and "no source" in refusal, refusal
    plan = ask("plan", *at, "plan")
    assert plan["bound"] >= 1 and (work / plan["file"]).exists()
    ask("implement", *at, "implement", "--agent", "tuner")
    trials = [json.loads(line) for line in (work / "profiles/v1/trials.jsonl").read_text().splitlines()]
    assert len(trials) >= 3 and all("status" in trial for trial in trials)
    gate = json.loads(run(*at, "gate", "--json", code=0).stdout)
    assert gate["quality_gate"]["result"] == "PASS", gate["quality_gate"]
    for metric in re.findall(r"(\S+) \w+ \(unchanged\)", gate["quality_gate"]["parts"]["isa"]):
        assert not metric.startswith("launch."), "what machine code cannot show was called unchanged"
    ask("record", *at, "commit")
    assert git(work, "status", "--porcelain") == ""
    assert "Burnish-Version: v1" in git(work, "log", "-1")

    summary = ask("run", *at, "run")
    assert summary["stop"]["reason"] and summary["best"]["speedup"] > 1
    before = git(work, "rev-parse", "HEAD"), (work / ".burnish/journal.jsonl").read_bytes()
    again = ask("run", *at, "run")
    assert again["stop"] == summary["stop"]
    assert before == (git(work, "rev-parse", "HEAD"), (work / ".burnish/journal.jsonl").read_bytes())
    ask("next", *at, "status")

    # A version that has a profile keeps it: records point to it.
    first = (work / "profiles/v0/evidence.json").read_bytes()
    assert ask("evidence", *at, "profile", "v0")["kernels"][0]["findings"]
    assert (work / "profiles/v0/evidence.json").read_bytes() == first
    assert (work / "profiles/v0.2/evidence.json").exists()
    assert "there is no v99" in run(*at, "profile", "v99", code=2).stderr
    assert ask("check", *at, "check", "v1")["verdict"] == "PASS"
    bench = ask("bench", *at, "bench", "v0", "v1", "--seconds", 3)
    assert {item["workload"] for item in bench["results"]} == {"even", "odd"}
    rows = run(*at, "bench", "v1", "--csv", "--seconds", 2).stdout.splitlines()
    assert rows[0].startswith("version,workload,") and len(rows) == 3, rows
    check_memory(at)
    code = sorted((work / "profiles/v0").glob("*.so"))
    assert code, "no machine code in the profile"
    assert ask("isa", "isa", code[0])["kernels"]
    assert ask("isa-diff", "isa", "--diff", code[0], code[0])["identical"]
    after = sorted((work / "profiles/v1").glob("*.so"))
    if after:
        assert not ask("isa-diff", "isa", "--diff", code[0], after[0])["identical"]
    ask("evidence", "evidence", code[0])


def check_memory(at):
    listed = ask("memory", *at, "memory", "list")
    assert listed
    ask("record", *at, "memory", "read", "v1")
    ask("record", *at, "memory", "latest")
    run(*at, "memory", "mask", "v0", code=1)
    run(*at, "memory", "mask", "v1")
    run(*at, "memory", "read", "v1", code=1)
    run(*at, "memory", "unmask", "v1")
    run(*at, "memory", "update", "v1", "quality_gate.result=BANANA", code=2)
    run(*at, "memory", "update", "v1", "optimization.action_description=edited by hand")
    assert ask("record", *at, "memory", "read", "v1")["optimization"]["action_description"] == "edited by hand"
    run(*at, "memory", "summary")


def check_offline():
    ask("occupancy", "occupancy", "--arch", "sm_90", "--threads", 256, "--registers", 64)
    ask("occupancy", "occupancy", "--arch", "gfx942", "--threads", 256, "--registers", 96, "--shared", 20480)
    ask("error", "occupancy", "--arch", "sm_1", "--threads", 1, "--registers", 1, code=2)
    ask("spec", "spec", "h200")
    ask("spec", "spec", "--verify", "opencl-cpu", "--device", "opencl:pocl")
    ask("error", "spec", "--verify", "h200", "--device", "opencl:pocl", code=2)
    ask("error", "spec", "h2000", code=2)
    assert ask("wiki", "wiki", "search", "bank", "conflicts")["results"]
    found = ask("wiki", "wiki", "search", "--finding", "shared-bank-conflicts", "--arch", "h200")["results"]
    assert any(hit["id"] == "pad-shared-memory" for hit in found[:3]), found
    ask("error", "wiki", "search", "--finding", "shared-bank-conflict", code=2)
    ask("error", "wiki", "search", code=2)
    files = ask("wiki", "wiki", "search", "transpose", "--layer", "L2", "--reference", SOURCE / "examples")["results"]
    assert files and all(hit["layer"] == "L2" and hit["id"].startswith("reference:examples/") for hit in files), files
    ask("error", "wiki", "search", "transpose", "--layer", "L2", code=2)
    ask("error", "wiki", "search", "transpose", "--layer", "L3", code=2)
    ranked = ask("wiki", "wiki", "for", SOURCE / "tests/plans/h200-transpose-v4", "--limit", 3)["results"]
    assert any("shared-memory" in hit["id"] for hit in ranked), ranked
    evidence = json.loads((SOURCE / "tests/plans/h200-transpose-v4/evidence.json").read_text())
    for kernel in evidence["kernels"]:
        kernel["device"].pop("arch")
    with tempfile.TemporaryDirectory() as folder:
        unknown = pathlib.Path(folder) / "evidence.json"
        unknown.write_text(json.dumps(evidence))
        ranked = ask("wiki", "wiki", "for", unknown, "--limit", 3)["results"]
    # Not taken for a processor, whose cards know no shared memory.
    assert any("shared-memory" in hit["id"] for hit in ranked), ranked
    ask("wiki", "wiki", "index")
    ask("wiki", "wiki", "show", "tile-for-cache")
    ask("doctor", "doctor")
    ask("error", "-C", "/nonexistent", "status", code=2)
    misspelt = run("occupancy", "--arhc", "sm_90", code=2)
    assert "--arch" in misspelt.stderr, misspelt.stderr


def check_bad_input(root):
    for name, content in [("empty", b""), ("text", b"hello\n"), ("zeros", bytes(4096)), ("elf", b"\x7fELF" + b"\xff" * 60)]:
        (root / name).write_bytes(content)
        for verb in ("evidence", "isa"):
            error = ask("error", verb, root / name, code=2)["error"]
            assert error["message"], error


def check_usage(root):
    """What a mistyped line says, and that it is never taken for another one."""
    for line, said in [
            (["frobnicate"], 'burnish has no verb "frobnicate"'),
            (["chek"], 'no verb "chek"\n  hint: did you mean check?'),
            (["--jsn"], 'no option "--jsn"\n  hint: did you mean --json?'),
            (["memory"], "memory needs a verb: init, create, read"),
            (["memory", "red", "v1"], 'memory has no verb "red"'),
            (["check", "--version", "v3"], "check has no option --version"),
            (["memory", "update", "--version", "v3", "--set", "a=b"], "no option --version"),
            (["run", "--max-iterations", "-5"], "--max-iterations is a number"),
            (["run", "--agent", "replay"], "needs --replay FOLDER"),
            (["bench", "--seconds", "-1"], "--seconds and --precision are more than 0"),
            (["bench", "--precision", "nan"], "--seconds and --precision are more than 0"),
            (["import", root / "nowhere"], "it is no folder"),
            (["init", "x", "--from", root / "nowhere"], "there is no folder"),
            (["init", root / ("x" * 300), "--from", SOURCE / "tests/tasks/scale"], f"cannot make {root}/xxx")]:
        done = run(*line, code=2, cwd=root)
        assert said in done.stderr and not done.stdout, (line, done.stderr)
    assert run("--version").stdout.startswith("burnish ")
    with open("/dev/full", "w") as full:
        lost = subprocess.run([BURNISH, "spec", "h200", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert lost.returncode == 3 and "standard output could not be written whole" in lost.stderr, lost
    odd = root / "it's a folder"
    shown = run("init", odd, "--from", SOURCE / "tests/tasks/scale").stdout
    command = shown[shown.index("next: ") + 6:].strip().removesuffix("run") + "next"
    assert "baseline" in subprocess.run(["sh", "-c", command.replace("burnish", f'"{BURNISH}"', 1)], check=True, capture_output=True, text=True).stdout
    fresh = ask("next", "-C", odd, "status")["summary"]
    assert "device" not in fresh and "baseline" not in fresh, fresh


def check_interrupt(root):
    """^C: exit code 130, one JSON value, and the workspace goes on."""
    work = root / "c"
    run("init", work, "--from", SOURCE / "tests/tasks/scale")
    process = subprocess.Popen([BURNISH, "-C", str(work), "baseline", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline() == "v0 baseline\n"  # it has begun
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130, (process.returncode, errors)
    error = json.loads(output)
    jsonschema.validate(error, SCHEMAS["error"])
    assert error["error"]["kind"] == "interrupted" and "burnish: interrupted" in errors, errors
    assert ask("next", "-C", work, "next")["stage"] == "baseline"


def check_is_quick(*arguments):
    run(*arguments)
    times = []
    end = time.monotonic() + 60
    while len(times) < 9 or (min(times) >= 0.020 and time.monotonic() < end):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    # Processor time, and the least of several: the machine may be busy, or slow for seconds, the program may not.
    assert min(times) < 0.020, f"burnish {' '.join(map(str, arguments))} takes {min(times) * 1e3:.1f} ms"


def check_search_is_quick(root):
    """The whole command, over a thousand cards."""
    own = len(ask("wiki", "wiki", "index")["results"])
    (root / "more").mkdir()
    for i in range(1000 - own):
        source = TECHNIQUES[i % len(TECHNIQUES)]
        write_card(root / "more", source, f"{source.stem}-{i}", "")
    at = ["--cards", root / "more", "wiki"]
    assert len(ask("wiki", *at, "index")["results"]) == 1000
    run("wiki", "lint", cwd=root)
    (root / "dead").mkdir()
    write_card(root / "dead", TECHNIQUES[0], TECHNIQUES[0].stem, "")
    card = root / "dead" / TECHNIQUES[0].name
    card.write_text(re.sub(r'(?m)^when = ".*"', 'when = "no.such_metric > 1"', card.read_text(), count=1))
    dead = run("--cards", root / "dead", "wiki", "lint", code=1, cwd=root).stdout
    assert "no.such_metric" in dead and str(card) in dead, dead
    check_is_quick(*at, "search", "bank", "conflicts")
    check_is_quick(*at, "search", "ds_read_b128", "--arch", "gfx942")


def step_of(folder, number, name, category, action, kernel, launch):
    """A step of a story: what replay goes through."""
    step = folder / "steps" / f"{number:02}-{name}"
    step.mkdir(parents=True)
    (step / "kernel.cl").write_text(kernel)
    (step / "launch.toml").write_text(launch)
    (step / "plan.md").write_text(f'''+++
version = {number}
parent = {number - 1}
category = "{category}"
action = "{action}"
findings = ["narrow"]
expected = "fewer instructions"
+++
''')


PEER = '''import json, sys
for workload in json.loads(sys.argv[1])["workloads"]:
    assert workload["tensors"]["x"] == {"dtype": workload["variant"] or "f32", "shape": [workload["dims"]["N"]]}
    print(json.dumps({"peer": "program", "workload": workload["name"], "variant": workload["variant"],
                      "samples_us": [900, 1000, 1100], "error": 1e-7}))
'''


def check_story(root):
    """A demo replays a story: steps judged by the gate, wrong ones kept and told, all timed with their peers."""
    example = root / "data/examples/story"
    shutil.copytree(SOURCE / "tests/tasks/scale", example)
    launch = (example / "launch.toml").read_text()
    kernel = (example / "kernel.cl").read_text()
    # Logits, so to say, in half precision where HALF is set.
    kernel = kernel.replace("__global const float* restrict x", "__global const X* restrict x")
    kernel = kernel.replace("y[i] = x[i] * x[i] + 1.0f", "y[i] = at(x, i) * at(x, i) + 1.0f")
    kernel = '''#if HALF
typedef half X;
float at(__global const half* x, int i) { return vload_half(i, x); }
#else
typedef float X;
float at(__global const float* x, int i) { return x[i]; }
#endif
''' + kernel.replace("#if VEC > 1", "#if VEC > 1 && !HALF")
    (example / "kernel.cl").write_text(kernel)
    task = (example / "burnish.toml").read_text()
    task = task.replace("[domain]", '''[[workload]]
name = "many"
dims = {N = [8192, 65536]}
gate = false

[[workload]]
name = "option"
dims = {N = 777}
weight = 0
draw = {x = {kind = "integers", low = 2, high = 3}}

[[variant]]
name = "f16"
dtype = {x = "f16"}
macros = {HALF = 1}

[domain]''')
    (example / "burnish.toml").write_text(task)
    wide = launch + "\n[tunables]\nVEC = 8\n"
    step_of(example, 1, "wide", "vectorized-access", "load eight at once", kernel, wide)
    wrong = kernel.replace("at(x, i) + 1.0f", "at(x, i) + (i == 100 ? 2.0f : 1.0f)")
    step_of(example, 2, "wrong", "vectorized-access", "forget one", wrong, wide)
    many = launch + "\n[tunables]\nVEC = 8\nITEMS = 64\n"
    step_of(example, 3, "items", "work-partition", "more elements an item", kernel, many)
    peer = example / "peers/plain"
    peer.mkdir(parents=True)
    (peer / "kernel.cl").write_text(kernel)
    (peer / "launch.toml").write_text('requires = "N != 777"\n' + launch)  # and is not asked for it
    (example / "peers/program.py").write_text(PEER)
    (example / "peers/absent.py").write_text("import sys\nprint('Torch is not here', file=sys.stderr)\nsys.exit(3)\n")
    os.environ["BURNISH_DATA"] = str(root / "data")
    at = ["-C", root]
    shown = ask("demo", *at, "demo", "story", "--seconds", 2)
    assert json.loads((root / "burnish-demo-story/profiles/demo.json").read_text()) == shown
    text = run(*at, "demo", "story", "--seconds", 0.2).stdout
    del os.environ["BURNISH_DATA"]

    gates = {one["label"]: one["gate"] for one in shown["contenders"]}
    assert gates["v1"] == "PASS" and gates["v2"] == "FAIL" and gates["plain"] == "PASS", gates
    assert [one["what"] for one in shown["contenders"]][1:4] == ["01-wide", "02-wrong", "03-items"]
    assert shown["story"]["stop"]["reason"].startswith("the story is told"), shown["story"]["stop"]
    times = {(one["contender"], one["variant"], one["workload"]): one for one in shown["times"]}
    for variant in ("", "f16"):
        for workload in ("many.N=8192", "many.N=65536"):
            assert ("v2", variant, workload) not in times, "a wrong version was timed"
            for contender in ("v0", "v1", "v3", "plain", "program"):
                time = times[contender, variant, workload]
                assert time["interval"][0] <= time["p50"] <= time["interval"][1], time
            assert times["v1", variant, workload]["floor"] > 0
            assert times["program", variant, workload]["p50"] == 1e-3
    fast, slow = times["v3", "", "many.N=65536"], times["v0", "", "many.N=65536"]
    over = fast["over"]["v0"]
    assert abs(over["ratio"] - slow["p50"] / fast["p50"]) < 1e-9 and over["interval"][0] > 1, over
    means = {(one["contender"], one["over"]): one for one in shown["means"]}
    assert means["v3", "program"]["workloads"] == 4 and "net" not in means["v3", "program"]
    assert means["v3", "plain"]["net"]["ratio"] > means["v3", "plain"]["gross"]["ratio"] > 1
    assert any("Torch is not here" in note for note in shown["notes"]), shown["notes"]
    for part in ("plain (peer)", "02-wrong", "v2: ", "geometric means", "note: Torch is not here", "× v0"):
        assert part in text, (part, text)
    assert "Burnish-Version: v3" in git(root / "burnish-demo-story", "log")
    check_records(root)


def check_records(root):
    """What a demo tells of a version is what the loop recorded; both are kept for the pages that link to them."""
    story, kept = root / "burnish-demo-story", root / "kept"
    said = subprocess.run([SOURCE / "scripts/keep-run", story, kept], check=True, capture_output=True, text=True).stdout
    assert "left out, listed in README.md" in said, said
    demo = json.loads((kept / "demo.json").read_text())
    assert [one.get("record") is not None for one in demo["contenders"]] == [True] * 4 + [False] * 2
    for one in demo["contenders"][:4]:
        told = one["record"]
        for name in (told["file"], told["plan"], told["profile"]):
            assert name == "" or (kept / name).read_bytes() == (story / name).read_bytes(), name
        record = json.loads((kept / told["file"]).read_text())
        assert record["quality_gate"]["result"] == one["gate"], one
        assert record["profile_evidence"]["findings"] == told["findings"], one
        assert record["optimization"]["action_category"] == told["category"], one
    assert demo["contenders"][1]["record"]["gain"]["ratio"] > 1 and demo["contenders"][1]["record"]["plan"]
    metrics = demo["contenders"][0]["record"]["metrics"]
    assert metrics["time.device"] > 0 and 0 < metrics["roofline.utilization_pct"] < 100, metrics
    left = (kept / "README.md").read_text()
    for path in (story / "profiles").rglob("*"):
        name = str(path.relative_to(story))
        assert path.is_dir() or (kept / name).exists() or f"`{name}`" in left or name == "profiles/demo.json", name


def check_dispatch(root):
    """Two kernels by shape, each judged at the shapes that it is for."""
    task = root / "dispatch"
    shutil.copytree(SOURCE / "tests/tasks/scale", task)
    kernel = (task / "kernel.cl").read_text()
    other = kernel[kernel.index("__kernel"):].replace("void scale(", "void scale_odd(")
    launch = (task / "launch.toml").read_text()
    odd = launch.replace('"scale"', '"scale_odd"') + 'when = "N % 2 == 1"\n'
    (task / "launch.toml").write_text(launch + 'when = "N % 2 == 0 and sm == 0"\n\n' + odd)
    for wrong in ("", "even", "odd"):
        parts = {"even": kernel, "odd": other}
        if wrong:
            parts[wrong] = parts[wrong].replace("x[i] + 1.0f", "x[i] + 1.5f")
        (task / "kernel.cl").write_text(parts["even"] + parts["odd"])
        work = root / f"dispatch-{wrong}"
        ask("init", "init", work, "--from", task)
        checked = ask("check", "-C", work, "check", code=1 if wrong else 0)
        failing = {one["name"] for one in checked["workloads"] if one["verdict"] != "PASS"}
        assert bool(failing) == bool(wrong), checked
        for name in failing & {"even", "odd"}:
            assert name == wrong, (name, wrong)
    (task / "launch.toml").write_text(launch + 'when = "N % 2 == 0"\n')
    error = ask("error", "init", root / "dispatch-none", "--from", task, code=2)["error"]
    assert "no [[kernel]] is launched" in error["message"] and error["line"] == 6, error


def check_machine_code(root):
    """Where no device runs a story, its machine code tells it, for what can be compiled."""
    if not shutil.which("clang-22") and not shutil.which("nvcc"):
        return
    told = json.loads(run("-C", root, "demo", "topk", "--json").stdout)
    if "contenders" in told:  # a GPU is here
        return
    for story in told["stories"]:
        steps = [step for step in story["steps"] if step["step"] == "00"]
        assert {step["arch"] for step in steps} <= {"gfx942", "gfx950", "sm_90"}, story
        assert all(step["metrics"]["registers.used"] > 0 for step in story["steps"])
        assert all(step["occupancy"]["waves_per_simd"] > 0 for step in story["steps"])
    assert "between lanes" in run("-C", root, "demo", "topk_sigmoid").stdout
    assert "conv3d, " in ask("error", "-C", root, "demo", "conv4d", code=2)["error"]["hint"]


def check_import(root):
    """A workspace of an agent skill, odd values included; its numbers go on."""
    skill = root / "kernel_opt_norm"
    (skill / "memory").mkdir(parents=True)
    (skill / "plans").mkdir()
    (skill / "kernel.py").write_text("class Model: pass\n")
    (skill / "reference.py").write_text("def reference(): pass\n")
    (skill / "plans/v1_plan.md").write_text("# Plan\n")
    (skill / "memory/v0.json").write_text('{"version": "v0", "performance": {"latency_us": 12.5}, "git_commit_hash": 123e4}')
    (skill / "memory/v1_negative.json").write_text('{"version": "v1_negative", "result": "MISS", "correctness": {"rel_err": Infinity}}')
    done = json.loads(run("-C", root, "import", skill, "--to", "imported", "--json").stdout)
    assert (done["records"], done["last"]) == (2, 1) and done["odd"] and done["todo"], done
    record = json.loads((root / "imported/memory/v1.json").read_text())
    assert record["result"] == "MISS" and record["/correctness/rel_err"] == "Infinity", record
    run("-C", root, "import", skill, "--to", "imported", code=2)
    assert "workload" in run("-C", root / "imported", "next", code=2).stderr


def check_kill(root):
    """kill -9 of the real program at odd moments; the next command goes on."""
    work = root / "k"
    run("init", work, "--from", SOURCE / "tests/tasks/scale")
    temporary = root / "tmp"
    temporary.mkdir()
    os.environ["TMPDIR"] = str(temporary)
    for delay in (0.3, 0.9, 2.0, 4.0, 7.0):
        process = subprocess.Popen([BURNISH, "-C", str(work), "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(delay)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    summary = ask("run", "-C", work, "run")
    del os.environ["TMPDIR"]
    left = list(temporary.glob("burnish*/*"))
    assert not left, f"temporary folders of killed processes are left: {left}"
    assert summary["stop"]["reason"]
    assert git(work, "status", "--porcelain") == ""
    git(work, "fsck", "--no-progress")


def timed(root):
    check_is_quick("--help")
    check_search_is_quick(root)
    check_offline()
    check_loop(root)
    check_scratch(root)
    check_story(root)
    unchecked = set(SCHEMAS) - CHECKED - {"error"}
    assert not unchecked, f"no verb was held to the schemas of {sorted(unchecked)}"
    print("every verb that has a schema was held to it")


def untimed(root):
    check_bad_input(root)
    check_usage(root)
    check_interrupt(root)
    check_import(root)
    check_dispatch(root)
    check_machine_code(root)
    check_kill(root)


def main():
    part = {"timed": timed, "untimed": untimed}[sys.argv[3]]
    with tempfile.TemporaryDirectory(prefix="burnish-e2e-") as folder:
        os.environ.pop("BURNISH_DATA", None)
        part(pathlib.Path(folder))


main()
