"""What can be tested on a machine with an NVIDIA GPU only.

gpu.py --burnish PROGRAM [--bench FOLDER]

Takes a task through the stages by hand and plants faults that leave the outputs right, or wrong in the
guard bands alone: the gate must refuse each, in the words of what found it. FOLDER holds
bench_device_time, which is run too. It needs compute-sanitizer and ncu; some two minutes.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent

# What is planted, part of the gate that must refuse it, words that must be there, in this order.
FAULTS = {
    "nothing": ([], "sanitizer", ""),
    "read behind the input": (
        [("part[threadIdx.x] = i < N ? x[i] : 0;", "part[threadIdx.x] = i < N ? x[i] : x[N] == 1e30f;")],
        "sanitizer", r"compute-sanitizer memcheck: Invalid __global__ read of size 4 bytes.*neighbours.*out of bounds"),
    "write behind the output": (
        [("if (i < N) y[i] = sum;", "if (i <= N) y[i] = sum;")],
        "correctness", r"4 bytes after y were overwritten"),
    "race in shared memory": (
        # The other warp has long written, so that the outputs are right.
        [("    __syncthreads();\n    const float sum",
          "    for (const long long start = clock64(); clock64() - start < 20000;) {}\n    __threadfence_block();\n"
          "    const float sum")],
        "sanitizer", r"compute-sanitizer racecheck: Error: Race reported between \w+ access.*neighbours"),
}


def run(program, *arguments, codes=(0,)):
    began = time.monotonic()
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode not in codes:
        sys.exit(f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    print(f"  {time.monotonic() - began:5.1f} s  burnish {' '.join(map(str, arguments[2:]))}", flush=True)
    return done.stdout


def gate_of(burnish, made, replaced):
    """The gate's judgement of the workspace `made`, in a copy, with this replaced in its kernel."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "work"
        shutil.copytree(made, work, symlinks=True)
        kernel = work / "kernel.cu"
        text = kernel.read_text()
        for old, new in replaced:
            assert old in text, old
            text = text.replace(old, new)
        kernel.write_text(text)
        launch = work / "launch.toml"
        spec = launch.read_text()
        launch.write_text(re.sub(r"STEPS = 64", "STEPS = 4", spec) if "[tunables]" in spec else spec + "\n[tunables]\nSTEPS = 4\n")
        run(burnish, "-C", work, "implement")
        record = json.loads(run(burnish, "-C", work, "gate", "--json", codes=(0, 1)))
        return record["quality_gate"]


def check_faults(burnish):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made"
        run(burnish, "-C", folder, "init", "made", "--from", SOURCE / "tasks/accesses")
        for verb in ("baseline", "profile", "plan"):
            run(burnish, "-C", made, verb)
        for name, (replaced, part, words) in FAULTS.items():
            gate = gate_of(burnish, made, replaced)
            said = gate.get("parts", {})
            if words:
                right = gate["result"] == "FAIL" and re.search(words, said.get(part, ""), re.S)
            else:
                # Whether it is faster is not the question here.
                right = "nothing found" in said.get("sanitizer", "") and "skipped" not in said["sanitizer"]
            failed += not right
            print(f"{'ok    ' if right else 'FAILED'} {name}: {gate['result']}, {json.dumps(said, ensure_ascii=False)}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--burnish", required=True)
    parser.add_argument("--bench")
    parser.add_argument("--out", default="", help="where bench_device_time writes its JSON")
    options = parser.parse_args()
    failed = 0
    if options.bench:
        program = [str(pathlib.Path(options.bench) / "bench_device_time")]
        failed += subprocess.run(program + (["--out", options.out] if options.out else [])).returncode != 0
    failed += check_faults(str(pathlib.Path(options.burnish).resolve()))
    sys.exit(1 if failed else 0)


main()
