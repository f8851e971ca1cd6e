#!/usr/bin/env python3
"""Writes the steps of an example as one C++ file for the host, each in a namespace of its own, with a table
of their kernels; instructions that are written as assembly are replaced by what they do.

usage: emulate.py FOLDER LANGUAGE MACRO VALUE[,VALUE…] OUTPUT

FOLDER is examples/NAME, LANGUAGE hip or cuda; the steps that use the macro are compiled once for each of its
values, the others once.
"""

import re
import sys
from pathlib import Path

ASSEMBLY = [
    (r'asm volatile\("v_fmac_f32 %0, %1, %2" : "\+v"\(sum\) : "v"\(x\), "v"\(w\)\)',
     "((sum) = fmaf((x), (w), (sum)))"),
    (r'asm\("cvt\.rn\.bf16\.f32 %0, %1;" : "=h"\(bits\) : "f"\(x\)\);', "bits = emulated_narrow(x);"),
    (r'asm\("cvt\.rn\.bf16x2\.f32 %0, %1, %2;" .*?"f"\(even\)\);',
     "both = emulated_narrow(even) | (unsigned)emulated_narrow(odd) << 16;"),
    (r'asm\("mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32 (?:(?!asm).)*?"f"\(bias\)\);',
     "for (float& sum : sums) sum = bias; emulated_mma(sums, rows, band);"),
    (r'asm\("mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32 .*?"r"\(band\[1\]\)\);',
     "emulated_mma(sums, rows, band);"),
    (r'asm volatile\("cp\.async\.ca\.shared\.global .*?"r"\(inside \? 4 : 0\)\);',
     "emulated_copy(to + i, from, inside ? 4 : 0);"),
    (r'extern __shared__ .*? unsigned char shared\[\];', "unsigned char* shared = emulated_shared();"),
    (r'asm volatile\("mbarrier\.init\..*?"memory"\);', "emulated_barrier(barrier, arrivals);"),
    (r'asm volatile\("mbarrier\.arrive\.shared.*?"memory"\);', "emulated_arrive(barrier, 0);"),
    (r'asm volatile\("mbarrier\.arrive\.expect_tx\..*?"r"\((\w+(?: \* \d+)?)\) : "memory"\);',
     r"emulated_arrive(barrier, \1);"),
    (r'asm volatile\(\s+"\{\\n\.reg \.pred done;.*?"memory"\);', "emulated_wait(barrier, parity);"),
    (r'asm volatile\(\s+"cp\.async\.bulk\.tensor\.3d\.shared::cluster\.global\..*?"memory"\);',
     "emulated_load(to, *map, -8, -2, plane, barrier);"),
    (r'asm volatile\("cp\.async\.bulk\.shared::cluster\.global\..*?"memory"\);',
     "emulated_load(to, from, bytes, barrier);"),
    (r'asm volatile\("cp\.async\.bulk\.prefetch\.L2\.global .*?"memory"\);', ""),
    (r'asm volatile\("cp\.async\.bulk\.tensor\.3d\.global\.shared::cta\..*?"memory"\);',
     "emulated_store(*map, 0, 0, plane, from);"),
    (r'asm volatile\("cp\.async\.bulk\.wait_group\.read (\d);" ::: "memory"\);', r"emulated_stores(\1);"),
    (r'asm volatile\("(cp\.async\.bulk\.commit_group|fence\.[\w.:]+);" ::: "memory"\);', ""),
    (r'asm volatile\("cp\.async\.(commit_group|wait_group 0);"( ::: "memory")?\);', ""),
    (r'asm volatile\("" ::: "memory"\);', ""),
    (r'asm\("fma\.rn\." PAIR .*?"r"\(0\)\);', "z = emulated_minus(pair);"),
    (r'asm\("prmt\.b32 .*?"r"\(z\)\);', "negative = (z >> 15 & 1) * 0xffffu | (z >> 31) * 0xffff0000u;"),
    (r'asm\("max\." PAIR .*?"r"\(b\)\);', "z = emulated_larger(a, b);"),
]


def also(name, step, folder):
    """A further file of the candidate: the step's own, or what it found there."""
    return (step / name if (step / name).exists() else folder / name).read_text()


def main():
    folder, language, macro, values, output = sys.argv[1:]
    folder = Path(folder) / language
    source = "kernel.hip" if language == "hip" else "kernel.cu"
    steps = [("00", folder)] + [(step.name, step) for step in sorted((folder / "steps").iterdir())]
    header = "<hip/hip_bf16.h>" if language == "hip" else '"emulation/cuda.h"'
    code, table = f'#include {header}\n#include "emulation/steps.h"\n', ""
    values = values.split(",")
    for value in values:
        code += f"#undef {macro}\n#define {macro} {value}\n"
        for name, step in steps:
            text = re.sub(r'^#include "(\w+\.h)"$', lambda include: also(include[1], step, folder),
                          (step / source).read_text(), flags=re.M)
            for_all = not re.search(rf"\b{macro}\b", text)
            if for_all and value != values[0]:
                continue
            for pattern, meaning in ASSEMBLY:
                text = re.sub(pattern, meaning, text, flags=re.S)
            assert not re.search(r"\basm\b", text), f"{step / source}: assembly that is not emulated"
            space = re.sub(r"\W", "_", f"step_{folder.parent.name}_{language}_{name}_{value}")
            macros = re.findall(r"^#define (\w+)", text, flags=re.M)
            plain = re.sub(r"^#define (?:.*\\\n)*.*\n", "", text, flags=re.M)
            kernels = re.findall(r"__launch_bounds__\([^)]*\)\s+(\w+)\(|^KERNEL\((\w+)", plain, flags=re.M)
            kernels = [one or other for one, other in kernels]
            # Their names are the same in every step, and have C linkage.
            renamed = "".join(f"#define {kernel} {space}_{kernel}\n" for kernel in kernels)
            restored = "".join(f"#undef {kernel}\n" for kernel in kernels + macros)
            code += f"{renamed}namespace {space} {{\n{text}}}\n{restored}"
            for kernel in kernels:
                condition = "" if for_all else f"if (value == {value}) "
                table += f'  {condition}steps["{name}"]["{kernel}"] = kernel_of({space}::{space}_{kernel});\n'
    function = f"{folder.parent.name}_{language}"
    code += ("namespace burnish::emulation {\n"
             f"Steps {function}(int value) {{\n  Steps steps;\n{table}  return steps;\n}}\n}}\n")
    Path(output).write_text(code)


if __name__ == "__main__":
    main()
