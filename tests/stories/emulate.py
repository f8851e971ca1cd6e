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


def versions(folder, source):
    """v0 and the steps by name, each with its kernel and its further files: a step has those that it leaves, and
    of the rest what its parent has, as replay has it."""
    made = [("00", {file.name: file.read_text() for file in [folder / source, *folder.glob("*.h")]})]
    for step in sorted((folder / "steps").iterdir()):
        files = dict(made[int(re.search(r"^parent = (\d+)$", (step / "plan.md").read_text(), flags=re.M)[1])][1])
        files.update({file.name: file.read_text() for file in step.iterdir() if file.name in files})
        made.append((step.name, files))
    return made


def main():
    folder, language, macro, values, output = sys.argv[1:]
    folder = Path(folder) / language
    source = "kernel.hip" if language == "hip" else "kernel.cu"
    steps = versions(folder, source)
    header = "<hip/hip_bf16.h>" if language == "hip" else '"emulation/cuda.h"'
    code, table = f'#include {header}\n#include "emulation/steps.h"\n', ""
    values = values.split(",")
    for value in values:
        code += f"#undef {macro}\n#define {macro} {value}\n"
        for name, files in steps:
            text = re.sub(r'^#include "(\w+\.h)"$', lambda include: files[include[1]], files[source], flags=re.M)
            for_all = not re.search(rf"\b{macro}\b", text)
            if for_all and value != values[0]:
                continue
            for pattern, meaning in ASSEMBLY:
                text = re.sub(pattern, meaning, text, flags=re.S)
            assert not re.search(r"\basm\b", text), f"{folder}, {name}: assembly that is not emulated"
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
