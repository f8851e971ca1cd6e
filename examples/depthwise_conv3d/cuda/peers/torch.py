"""Times PyTorch's depthwise convolution for `burnish demo conv3d`.

The workloads come as JSON on the command line; a line of JSON is printed for every way and workload:
{"peer", "workload", "variant", "samples_us", "error"}. Caches are cold, as burnish has them for launches of
this length: twice the last-level cache is written before each call. `error` is the relative 2-norm of the
difference from the same convolution in double precision.
"""
import json
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"PyTorch is not here: {error}", file=sys.stderr)
    sys.exit(3)
if not torch.cuda.is_available():
    print("PyTorch is here, without a GPU that it can use", file=sys.stderr)
    sys.exit(3)

LAST = torch.channels_last_3d


def samples_of(call, flush, seconds):
    """Microseconds of single calls, at least 5 and at most 30."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    end, samples = time.monotonic() + seconds, []
    while len(samples) < 5 or (len(samples) < 30 and time.monotonic() < end):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        start.record()
        call()
        stop.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(stop) * 1e3)
    return samples


def main():
    request = json.loads(sys.argv[1])
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    generator = torch.Generator(device="cuda").manual_seed(7)
    share = request["seconds"] / max(len(request["workloads"]), 1) / 6
    for workload in request["workloads"]:
        tensors = workload["tensors"]
        x, w, b = (torch.randn(tensors[name]["shape"], generator=generator, device="cuda").bfloat16() for name in "XWB")
        groups = x.shape[1]

        def convolve(x, w, b):
            return F.conv3d(x, w, b, padding=(0, 2, 2), groups=groups)

        truth = convolve(x.double(), w.double(), b.double())
        x_last, w_last = x.to(memory_format=LAST), w.to(memory_format=LAST)
        ways = {
            "PyTorch": lambda: convolve(x, w, b),
            "PyTorch channels-last": lambda: convolve(x_last, w_last, b),
            "PyTorch channels-last, layout changed": lambda: convolve(x.to(memory_format=LAST), w_last, b).contiguous(),
        }
        for name, call in ways.items():
            got = call().contiguous().double()
            error = (torch.linalg.vector_norm(got - truth) / torch.linalg.vector_norm(truth)).item()
            del got
            print(json.dumps({"peer": name, "workload": workload["name"], "variant": workload["variant"],
                              "samples_us": samples_of(call, flush, share), "error": error}), flush=True)


main()
