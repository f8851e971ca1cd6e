"""Times PyTorch's top-k and sigmoid for `burnish demo topk`.

The workloads come as JSON on the command line; a line of JSON is printed for every way and workload:
{"peer", "workload", "variant", "samples_us", "error"}. Calls are short, so that several of them stand between
two events, with warm caches, as burnish times short launches; what the host takes to issue them counts.
`error` is that of the sigmoids against double precision, as a relative 2-norm.
"""
import json
import sys
import time

try:
    import torch
except ImportError as error:
    print(f"PyTorch is not here: {error}", file=sys.stderr)
    sys.exit(3)
if not torch.cuda.is_available():
    print("PyTorch is here, without a GPU that it can use", file=sys.stderr)
    sys.exit(3)

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
CALLS = 20  # between two events


def gate(logits, k):
    """The sigmoids in f32 of the k largest logits, ranked on the logits; indices stay 64 bits wide."""
    values, indices = torch.topk(logits, k, dim=-1, sorted=True)
    return torch.sigmoid(values.float()), indices


def samples_of(call, end):
    """Microseconds of a call; 20 samples, fewer when the time is over, none when it was before."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    samples = []
    while len(samples) < 20 and (len(samples) < 3 or time.monotonic() < end):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            call()
        stop.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(stop) * 1e3 / CALLS)
    return samples


def main():
    begin = time.monotonic()
    request = json.loads(sys.argv[1])
    generator = torch.Generator(device="cuda").manual_seed(7)
    # Compiled for all shapes at once, since compiling takes seconds.
    ways = {"PyTorch eager": gate, "PyTorch compiled": torch.compile(gate, dynamic=True)}
    left_out = 0
    for turn, (name, function) in enumerate(ways.items(), 1):
        end = begin + request["seconds"] * turn / len(ways)
        for workload in request["workloads"]:
            if time.monotonic() > end:
                left_out += 1
                continue
            shape, k = workload["tensors"]["G"]["shape"], workload["dims"]["K"]
            logits = (2 * torch.randn(shape, generator=generator, device="cuda")).to(DTYPES[workload["tensors"]["G"]["dtype"]])
            truth = torch.sigmoid(torch.topk(logits.double(), k, dim=-1).values)
            error = torch.linalg.vector_norm(function(logits, k)[0].double() - truth) / torch.linalg.vector_norm(truth)
            print(json.dumps({"peer": name, "workload": workload["name"], "variant": workload["variant"],
                              "samples_us": samples_of(lambda: function(logits, k), end), "error": error.item()}), flush=True)
    if left_out:
        print(json.dumps({"note": f"PyTorch: the time was over before {left_out} of {len(ways) * len(request['workloads'])} timings"}))


main()
