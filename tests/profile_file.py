"""`burnish profile FILE --output-dir DIR` against fakes of the profilers that play recordings (tests/fakes).

profile_file.py BURNISH SOURCE_FOLDER FIXTURES; exits with 125 when the recordings are not there.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import jsonschema

BURNISH, SOURCE, FIXTURES = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
SCHEMA = json.loads((SOURCE / "data/schemas/evidence.json").read_text())
REPORT = FIXTURES / "h200/k.ncu-rep"
RECORDINGS = [FIXTURES / "rocprof-compute/vcopy_MI300X_A1_pmc_perf.csv", FIXTURES / "att",
              FIXTURES / "rocprofv3/HipKittens_ds_read_b64_lds_conflict_counter_collection.csv", REPORT]
VECCOPY = "vecCopy(double*, double*, double*, int, int)"


# What Triton leaves in its cache beside the code object.
AMDGCN = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.text
\t.globl\tNAME
\t.type\tNAME,@function
NAME:
\ts_load_dwordx4 s[0:3], s[0:1], 0x0
\tv_lshlrev_b32_e32 v0, 3, v0
\ts_waitcnt lgkmcnt(0)
\tglobal_load_dwordx2 v[2:3], v0, s[0:1]
\ts_waitcnt vmcnt(0)
\tglobal_store_dwordx2 v0, v[2:3], s[2:3]
\ts_endpgm
\t.amdhsa_kernel NAME
\t\t.amdhsa_next_free_vgpr 4
\t\t.amdhsa_next_free_sgpr 8
\t\t.amdhsa_accum_offset 4
\t.end_amdhsa_kernel
"""


class Bench:
    """A folder with the fakes, a program and a decoder; each call of profile() is one run of burnish."""

    def __init__(self, root):
        self.root = root
        for name in ("rocm", "cuda", "decoder"):
            (root / name).mkdir()
        shutil.copy(SOURCE / "tests/fakes/rocprofv3", root / "rocm")
        shutil.copy(SOURCE / "tests/fakes/ncu", root / "cuda")
        (root / "decoder/librocprof-trace-decoder.so").touch()
        self.program = self.file("kernel.sh", '#!/bin/sh\necho "$@" >> "$(dirname "$0")/calls"\n')

    def file(self, name, text):
        path = self.root / name
        path.write_text(text)
        return path

    def calls(self):
        path = self.root / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def profile(self, *arguments, code=0, tool="rocm", fake="", decoder=True):
        environment = {"PATH": f"{self.root / tool}:/usr/bin:/bin", "HOME": str(self.root), "LANG": "C.UTF-8",
                       "FAKE_ROCPROFV3": fake, "FAKE_ROCPROFV3_FIXTURES": str(FIXTURES),
                       "FAKE_NCU": fake, "FAKE_NCU_REPORT": str(REPORT)}
        if decoder:
            environment["ROCPROF_ATT_LIBRARY_PATH"] = str(self.root / "decoder")
        done = subprocess.run([BURNISH, "profile", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                              cwd=self.root, env=environment)
        assert done.returncode == code, f"{arguments}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}"
        return done

    def evidence(self, *arguments, **how):
        value = json.loads(self.profile(*arguments, "--json", **how).stdout)
        jsonschema.validate(value, SCHEMA, cls=jsonschema.Draft202012Validator)
        return value


def read_quietly(path):
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:  # the process has ended
        return ""


def runs_of(evidence, good):
    return {run["run"] for run in evidence["runs"] if run["good"] is good}


def kernels_of(evidence, name):
    found = [kernel for kernel in evidence["kernels"] if kernel["name"] == name]
    assert found, [kernel["name"] for kernel in evidence["kernels"]]
    return found


def check_everything(bench):
    out = bench.root / "all"
    script = bench.file("kernel.py", "import sys, pathlib  # s_endpgm, amdgcn-amd-amdhsa: words of assembly are no code\n"
                        "with open(pathlib.Path(__file__).parent / 'calls', 'a') as calls: print(*sys.argv[1:], file=calls)\n")
    done = bench.profile(script, "--output-dir", out, "--", "--size", 7)
    assert (out / "summary.txt").read_text() == done.stdout
    assert "pass 1 of 4" in done.stderr, done.stderr
    assert bench.calls() == ["--size 7"] * 6, "times, four passes of counters, a trace"
    names = {path.name for path in out.iterdir()}
    assert {"att", "pmc", "kernel.s", "evidence.json", "summary.txt"} <= names and "failed" not in names, names
    evidence = json.loads((out / "evidence.json").read_text())
    jsonschema.validate(evidence, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert len(runs_of(evidence, True)) == 6 and not runs_of(evidence, False), evidence["runs"]

    # The recorded numbers, with the pass that each came from, in files that lie below DIR.
    launch = kernels_of(evidence, VECCOPY)[0]
    assert launch["device"] == {"arch": "gfx942", "name": "AMD Instinct MI300X"}, launch["device"]
    hits = launch["metrics"]["l2.hit_pct"]
    assert abs(hits["value"] - 33.5) < 0.01, hits
    assert (out / hits["where"]["file"]).exists() and hits["where"]["pass"].startswith("pass_"), hits
    passes = {metric["where"].get("pass") for metric in launch["metrics"].values()}
    assert {"pass_1", "pass_2", "pass_3", "pass_4"} <= passes, passes
    assert [finding["id"] for finding in launch["findings"]] == ["tail-wave"], launch["findings"]
    # What the recording lacks is said to be missing, and what cannot be right is left out.
    assert any("SQ_INSTS_VALU_MFMA_MOPS_F8" in warning for warning in evidence["warnings"]), evidence["warnings"]
    assert "flops.tensor" not in launch["metrics"] or "MOPS_F8" not in launch["metrics"]["flops.tensor"]["where"]["raw_name"]
    assert any("come from different passes" in text for text in launch["statements"]), launch["statements"]
    traced = kernels_of(evidence, "__amd_rocclr_fillBufferAligned")[0]
    assert traced["findings"][0]["id"] == "amd-memory-queue-full", traced["findings"]

    listing = (out / "kernel.s").read_text()
    assert "global_store_dwordx4 v[8:9], v[4:7], off" in listing and "<__amd_rocclr_fillBufferAligned>:" in listing
    isa = json.loads(subprocess.run([BURNISH, "isa", out / "kernel.s", "--json"], capture_output=True, check=True).stdout)
    assert isa["kernels"][0]["name"] == "__amd_rocclr_fillBufferAligned", isa
    summary = done.stdout
    assert "tail-wave" in summary and "amd-memory-queue-full" in summary and "3 launches" in summary, summary
    # Again into the same folder: it is burnish's own, and nothing of before stays.
    (out / "att" / "old").touch()
    bench.profile(script, "--output-dir", out, "--asm-only")
    assert (out / "kernel.s").exists() and {path.name for path in (out / "pmc").iterdir()} == {"times"}
    assert not (out / "att" / "old").exists()


def check_failed_passes(bench):
    out = bench.root / "partly"
    began = time.monotonic()
    done = bench.profile(bench.program, "--output-dir", out, "--pmc-only", "--timeout", 4, "--json",
                         fake="fail=pass_2 empty=pass_3 hang=pass_4")
    assert time.monotonic() - began < 30
    evidence = json.loads(done.stdout)
    assert runs_of(evidence, True) == {"times of kernels", "counters, pass 1 of 4"}, evidence["runs"]
    why = {run["run"]: run["why"] for run in evidence["runs"] if not run["good"]}
    assert "exited with 1" in why["counters, pass 2 of 4"] and "error code 38" in why["counters, pass 2 of 4"], why
    assert "hold no launch" in why["counters, pass 3 of 4"] or "cannot be read" in why["counters, pass 3 of 4"], why
    assert "was stopped after 4" in why["counters, pass 4 of 4"], why
    assert "amd-blocks.toml" in next(run["hint"] for run in evidence["runs"] if run["run"] == "counters, pass 2 of 4")
    for name in why:
        assert any(warning.startswith(name + " failed") for warning in evidence["warnings"]), evidence["warnings"]
        assert f"FAILED {name}" in (out / "summary.txt").read_text()
    # Nothing of a failed pass is evidence, and what it left lies apart.
    passes = {metric["where"].get("pass", "") for kernel in evidence["kernels"] for metric in kernel["metrics"].values()}
    assert passes <= {"", "pass_1"} and "pass_1" in passes, passes
    assert {path.name for path in (out / "pmc").iterdir()} == {"times", "pass_1"}
    assert {path.name for path in (out / "failed").iterdir()} == {"pass_2", "pass_3", "pass_4"}
    assert not (out / "att").exists() and not (out / "kernel.s").exists(), "--pmc-only"
    assert not [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if str(out) in read_quietly(path)], "a run is left"


def check_nothing_works(bench):
    out = bench.root / "hung"
    done = bench.profile(bench.program, "--output-dir", out, "--timeout", 0.3, "--att-only", code=124,
                         fake="hang=times hang=att")
    assert "stopped after" in done.stderr and "summary.txt" in done.stderr, done.stderr
    assert json.loads((out / "evidence.json").read_text())["kernels"] == []
    broken = bench.file("broken.sh", "#!/bin/sh\necho no such tensor >&2\nexit 7\n")
    done = bench.profile(broken, "--output-dir", bench.root / "broken", "--pmc-only", code=3)
    assert "exited with 7" in done.stderr and "no such tensor" in done.stderr, done.stderr


def check_trace(bench):
    done = bench.profile(bench.program, "--output-dir", bench.root / "undecoded", "--att-only", code=3, decoder=False)
    assert "librocprof-trace-decoder.so" in done.stderr and "github.com/ROCm/rocprof-trace-decoder" in done.stderr, done.stderr
    done = bench.profile(bench.program, "--output-dir", bench.root / "old", "--att-only", code=3, fake="no-att")
    assert "unrecognized arguments: --att" in done.stderr and "ROCm 7.0 or newer" in done.stderr, done.stderr
    out = bench.root / "att"
    evidence = bench.evidence(bench.program, "--output-dir", out, "--att-only")
    command = next(run["command"] for run in evidence["runs"] if run["run"].startswith("thread trace"))
    # The kernel that takes most time, in its second launch.
    expression = next(word for word in command if word.startswith("--kernel-include-regex="))
    assert "vecCopy\\(double\\*, " in expression, expression
    assert command[command.index("--kernel-iteration-range") + 1] == "[2]", command
    assert {path.name for path in (out / "pmc").iterdir()} == {"times"}


def check_code(bench):
    """Triton's cache is the program's own in these runs, and holds the code of kernels that ran and of others."""
    for name in ("vecCopy", "unused"):
        bench.file(name + ".amdgcn", AMDGCN.replace("NAME", name))
    program = bench.file("triton.sh", '#!/bin/sh\nhere=$(dirname "$0")\nmkdir -p "$TRITON_CACHE_DIR/x"\n'
                         'cp "$here"/*.amdgcn "$TRITON_CACHE_DIR/x"\n')
    out = bench.root / "code"
    evidence = bench.evidence(program, "--output-dir", out, "--asm-only")
    assert runs_of(evidence, True) == {"times of kernels"}, "no trace is needed for the code"
    listing = (out / "kernel.s").read_text()
    assert "global_load_dwordx2 v[2:3], v0, s[0:1]" in listing and "<vecCopy>:" in listing and "unused" not in listing, listing
    assert "vecCopy from triton/x/vecCopy.amdgcn" in (out / "summary.txt").read_text()
    assert {kernel["name"] for kernel in evidence["kernels"]} == {VECCOPY}
    loads = evidence["kernels"][0]["metrics"]["isa.vmem_load"]
    assert loads["value"] == 1 and loads["where"]["file"] == "triton/x/vecCopy.amdgcn", loads
    assert evidence["kernels"][0]["metrics"]["time.device"]["where"]["file"].startswith("pmc/times/")


def check_selection(bench):
    evidence = bench.evidence(bench.program, "--output-dir", bench.root / "chosen", "--pmc-only", "--kernel-regex", "micro_.k",
                              "--iteration-range", "1-3", fake="hipkittens")
    assert [kernel["name"] for kernel in evidence["kernels"]] == ["micro_tk(micro_globals)"]
    kernel = evidence["kernels"][0]
    assert "amd-lds-conflicts-per-instruction" in [finding["id"] for finding in kernel["findings"]], kernel["findings"]
    assert kernel["device"]["arch"] == "gfx950"
    command = next(run["command"] for run in evidence["runs"] if run["run"].startswith("counters, pass 1"))
    assert "--kernel-include-regex=micro_.k" in command and "[1-3]" in command, command
    # The two counters of this recording are in one or two passes; the others found none of theirs.
    failed = [run for run in evidence["runs"] if not run["good"]]
    assert failed and all("Unable to find all counters" in run["why"] for run in failed), failed
    done = bench.profile(bench.program, "--output-dir", bench.root / "chosen", "--kernel-regex", "^gemm", code=2, fake="hipkittens")
    assert "^gemm" in done.stderr and "micro_tk" in done.stderr, done.stderr


def check_bad_input(bench):
    out = bench.root / "bad"
    program = bench.program

    def refuse(*arguments, says, code=2, **how):
        done = bench.profile(*arguments, code=code, **how)
        assert all(word in done.stderr for word in says), done.stderr
        assert not out.exists(), "something was done before the input was checked"

    refuse("absent.py", "--output-dir", out, says=["no program", "absent.py"])
    refuse(bench.root, "--output-dir", out, says=["is no program"])
    refuse(bench.file("notes.txt", "text"), "--output-dir", out, says=["may not be executed", "chmod"])
    refuse(REPORT, "--output-dir", out, says=["burnish evidence"])
    refuse(program, says=["--output-dir DIR"])
    refuse("v3", says=["workspace"])
    refuse("--pmc-only", says=["no program is named"])
    refuse(program, "--output-dir", out, "--pmc-only", "--att-only", says=["exclude"])
    refuse(program, "--output-dir", out, "--kernel-regex", "copy(", says=["regular expression", "copy("])
    for text in ("5-2", "0-2", "x", "1-", "-3"):
        refuse(program, "--output-dir", out, f"--iteration-range={text}", says=[text])
    refuse(program, "--output-dir", out, "--timeout", "-1", says=["--timeout"])
    refuse(program, "--output-dir", bench.root / "notes.txt", says=["notes.txt", "is a file"])
    refuse(program, "--output-dir", bench.root / "notes.txt/sub", says=["cannot be written"])
    refuse(program, "--output-dir", bench.root, says=["not empty"])
    full = bench.root / "mine"
    full.mkdir()
    (full / "evidence.json").write_text("{}")
    refuse(program, "--output-dir", full, says=["not empty", "evidence.json"])
    assert (full / "evidence.json").read_text() == "{}"
    if not any(shutil.which(tool, path="/usr/bin:/bin") for tool in ("ncu", "rocprofv3")) and not pathlib.Path("/opt/rocm").exists():
        refuse(program, "--output-dir", out, says=["rocprofv3", "ncu", "install"], code=3, tool="decoder")
    refuse(program, "--output-dir", out, "--att-only", says=["AMD"], tool="cuda")
    refuse(program, "--output-dir", out, "--device", "cuda", says=["ncu is not on the PATH"], code=3)
    assert bench.calls() == [], "the program ran"


def check_nvidia(bench):
    out = bench.root / "nvidia"
    done = bench.profile(bench.program, "--output-dir", out, "--iteration-range", "2-4", tool="cuda")
    assert {"profile.ncu-rep", "evidence.json", "summary.txt"} <= {path.name for path in out.iterdir()}
    evidence = json.loads((out / "evidence.json").read_text())
    jsonschema.validate(evidence, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert any(kernel["findings"] for kernel in evidence["kernels"]), done.stdout
    command = evidence["runs"][0]["command"]
    assert command[command.index("--launch-skip") + 1] == "1" and command[command.index("--launch-count") + 1] == "3", command
    assert bench.calls() == [""]
    done = bench.profile(bench.program, "--output-dir", out, code=3, tool="cuda", fake="permission")
    assert "ERR_NVGPUCTRPERM" in done.stderr and "NVreg_RestrictProfilingToAdminUsers" in done.stderr, done.stderr
    done = bench.profile(bench.program, "--output-dir", out, code=3, tool="cuda", fake="empty")
    assert "no report" in done.stderr, done.stderr


def main():
    absent = [path for path in RECORDINGS if not path.exists()]
    if absent:
        print(f"skipped: no recording {absent[0]}")
        sys.exit(125)
    for check in (check_everything, check_failed_passes, check_nothing_works, check_trace, check_code, check_selection, check_bad_input,
                  check_nvidia):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            bench = Bench(pathlib.Path(folder))
            check(bench)
            print(f"{check.__name__}: {time.monotonic() - began:.1f} s")


main()
