"""Serves a task's reference.py to the judge; the protocol is that of main.cpp beside this file.

reference.py defines reference(dims, inputs) with dims a dict of numbers (whole ones as int) and
inputs a dict of float64 arrays in the tensors' shapes. It returns a dict with an array for each
output.
"""

import importlib.util
import os
import struct
import sys
import traceback

import numpy as np


def take(stream, size):
    data = stream.read(size)
    if len(data) != size:
        sys.exit(0)
    return data


def take_text(stream):
    return take(stream, struct.unpack("=I", take(stream, 4))[0]).decode()


def take_shape(stream):
    rank = struct.unpack("=I", take(stream, 4))[0]
    return struct.unpack(f"={rank}q", take(stream, 8 * rank))


def call(reference, dims, inputs, shapes):
    outputs = reference(dims, inputs)
    if not isinstance(outputs, dict):
        raise TypeError(f"it returned {type(outputs).__name__}, not a dict of outputs")
    unknown = sorted(set(outputs) - set(shapes))
    if unknown:
        raise KeyError(f"it returned {unknown[0]!r}, which is no output of the task")
    arrays = []
    for name, shape in shapes.items():
        if name not in outputs:
            raise KeyError(f"it did not return output {name!r}")
        array = np.asarray(outputs[name], dtype=np.float64)
        if array.shape != shape:
            raise ValueError(f"output {name!r} has shape {array.shape}, the task says {shape}")
        arrays.append(np.ascontiguousarray(array))
    return arrays


def main():
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    spec = importlib.util.spec_from_file_location("task_reference", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    failure = None
    try:
        sys.path.insert(0, os.path.dirname(sys.argv[1]))
        spec.loader.exec_module(module)
        if not callable(getattr(module, "reference", None)):
            failure = "it defines no function reference(dims, inputs)"
    except BaseException:
        failure = traceback.format_exc(limit=-3)

    while True:
        dims, inputs, shapes = {}, {}, {}
        for _ in range(struct.unpack("=I", take(requests, 4))[0]):
            name = take_text(requests)
            value = struct.unpack("=d", take(requests, 8))[0]
            dims[name] = int(value) if value.is_integer() else value
        for _ in range(struct.unpack("=I", take(requests, 4))[0]):
            name = take_text(requests)
            shape = take_shape(requests)
            count = int(np.prod(shape, dtype=np.int64))
            data = np.frombuffer(take(requests, 8 * count), dtype=np.float64)
            inputs[name] = data.reshape(shape).copy()
        for _ in range(struct.unpack("=I", take(requests, 4))[0]):
            name = take_text(requests)
            shapes[name] = take_shape(requests)

        problem, arrays = failure, []
        if problem is None:
            try:
                arrays = call(module.reference, dims, inputs, shapes)
            except BaseException:
                problem = traceback.format_exc(limit=-3)
        sys.stdout.flush()
        if problem is not None:
            text = problem.strip().encode()
            answers.write(b"\x01" + struct.pack("=I", len(text)) + text)
        else:
            answers.write(b"\x00")
            for array in arrays:
                answers.write(array.tobytes())
        answers.flush()


main()
