#!/usr/bin/env python3
"""Kernels that PyPI's Triton compiles ahead of time for gfx942 and gfx950, without a GPU, are read by
`burnish isa`: the assembly text and the code object, which must say the same.

usage: triton_test.py BURNISH        skipped with status 77 where Triton is not importable
       triton_test.py --write DIR    compiles into DIR: NAME.ARCH.amdgcn and NAME.ARCH.hsaco

$BURNISH_TRITON_PYTHON is the interpreter that has Triton; without it, the one that runs this.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TARGETS = ("gfx942", "gfx950")


def write(folder):
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    globals()["tl"] = tl  # the kernels are compiled from their source, where names are global

    def softmax(x, y, columns, BLOCK: "tl.constexpr"):
        row = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        e = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)

    def matmul(a, b, c, k, TILE: "tl.constexpr"):
        i = tl.program_id(0) * TILE + tl.arange(0, TILE)
        j = tl.program_id(1) * TILE + tl.arange(0, TILE)
        t = tl.arange(0, TILE)
        total = tl.zeros((TILE, TILE), tl.float32)
        for start in range(0, k, TILE):
            x = tl.load(a + i[:, None] * k + (start + t)[None, :])
            y = tl.load(b + (start + t)[:, None] * k + j[None, :])
            total = tl.dot(x, y, total)
        tl.store(c + i[:, None] * k + j[None, :], total)

    kernels = {
        softmax: ({"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 1024}),
        matmul: ({"a": "*fp16", "b": "*fp16", "c": "*fp32", "k": "i32"}, {"TILE": 64}),
    }
    for function, (signature, constants) in kernels.items():
        for arch in TARGETS:
            source = ASTSource(fn=triton.jit(function), constexprs=constants,
                               signature=signature | {name: "constexpr" for name in constants})
            compiled = triton.compile(source, target=GPUTarget("hip", arch, 64), options={"num_warps": 4})
            name = folder / f"{function.__name__}.{arch}"
            name.with_suffix(f".{arch}.amdgcn").write_text(compiled.asm["amdgcn"])
            name.with_suffix(f".{arch}.hsaco").write_bytes(compiled.asm["hsaco"])


def check(burnish, folder):
    def kernel(name, arch, kind):
        file = folder / f"{name}.{arch}.{kind}"
        run = subprocess.run([burnish, "isa", "--json", file], capture_output=True, text=True)
        assert run.returncode == 0, (file, run.stderr)
        kernels = json.loads(run.stdout)["kernels"]
        assert [k["name"] for k in kernels] == [name], (file, kernels)
        return kernels[0]

    for arch in TARGETS:
        for name in ("softmax", "matmul"):
            text, binary = kernel(name, arch, "amdgcn"), kernel(name, arch, "hsaco")
            assert text["arch"] == binary["arch"] == arch
            for same in ("registers", "shared_bytes", "scratch_bytes", "spills", "cross_lane", "widths"):
                assert text[same] == binary[same], (name, arch, same, text[same], binary[same])
            # NOPs behind the code, which align it, are in the object only.
            for classes in (text["classes"], binary["classes"]):
                classes.pop("nop", None)
            assert text["classes"] == binary["classes"], (name, arch, text["classes"], binary["classes"])
            assert len(text["loops"]) == len(binary["loops"]) == (1 if name == "matmul" else 0)
            print(f"{name} {arch}: registers {text['registers']}, classes {text['classes']}")
        assert kernel("matmul", arch, "hsaco")["classes"]["matrix"] > 0
        assert kernel("softmax", arch, "hsaco")["cross_lane"]["dpp_row_bcast"] > 0


def main():
    if sys.argv[1] == "--write":
        return write(Path(sys.argv[2]))
    python = os.environ.get("BURNISH_TRITON_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import triton"], capture_output=True).returncode != 0:
        print("skipped: no Triton for", python)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, __file__, "--write", folder], check=True,
                       env=os.environ | {"TRITON_CACHE_DIR": folder + "/cache"})
        check(sys.argv[1], Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
