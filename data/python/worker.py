"""Runs a Python candidate for the judge, which holds the memory and the clock.

Buffers lie in the shared memory behind descriptor 3; the judge fills and reads them while this
process and all that it started are stopped. A line of JSON comes in, a line goes out; "go" carries a
word that nobody here knows before the clock runs, and "done" gives it back.
"""

import json
import mmap
import os
import sys
import traceback
import types

import numpy as np


def place(error, file):
    """The line of the candidate where an exception came from, and what it says."""
    line = getattr(error, "lineno", 0) if isinstance(error, SyntaxError) else 0
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file:
            line = frame.lineno
    return {"error": f"{type(error).__name__}: {error}", "line": line or 0}


def main():
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what the candidate prints is a message, not an answer

    def take():
        line = requests.readline()
        if not line:
            os._exit(0)
        return json.loads(line)

    def answer(what):
        answers.write((json.dumps(what) + "\n").encode())

    start = take()
    memory = mmap.mmap(3, start["bytes"])
    for name, text in start["also"].items():
        path = os.path.join(start["folder"], name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    sys.path.insert(0, start["folder"])
    module = types.ModuleType("kernel")
    module.__dict__.update(start["macros"], __file__=start["file"])
    try:
        exec(compile(start["text"], start["file"], "exec"), module.__dict__)
    except BaseException as error:
        answer(place(error, start["file"]))
        return
    answer({})

    def argument(one):
        if "scalar" in one:
            value = one["scalar"]
            return int(value) if float(value).is_integer() and one["integer"] else value
        count = int(np.prod(one["shape"], dtype=np.int64))
        array = np.frombuffer(memory, dtype=one["dtype"], count=count, offset=one["offset"])
        return array.reshape(one["shape"])

    while True:
        request = take()
        try:
            calls = []
            for launch in request["launches"]:
                function = module.__dict__.get(launch["kernel"])
                if not callable(function):
                    raise NameError(f"there is no function {launch['kernel']}")
                calls.append((function, [argument(one) for one in launch["arguments"]]))
        except BaseException as error:
            answer(place(error, start["file"]))
            continue
        answer({})
        word = take()
        outcome = {"done": word["go"]}
        try:
            for _ in range(request["repetitions"]):
                for function, arguments in calls:
                    function(*arguments)
        except BaseException as error:
            outcome = place(error, start["file"])
        answer(outcome)


main()
