// The examples' references, each under a name of its own.
#include "burnish_reference.h"
#include "emulation/steps.h"

#define reference reference_of_depthwise_conv3d
#include "../../examples/depthwise_conv3d/reference.cpp"
#undef reference
#define reference reference_of_topk_sigmoid
#include "../../examples/topk_sigmoid/cuda/reference.cpp"
#undef reference

namespace burnish::emulation {
namespace {

template <class Reference>
void run(Reference reference, const std::map<std::string, double>& dims, const Values& in,
         Values& out) {
  Outputs outputs{out};
  reference(Dims{dims}, Inputs{in}, outputs);
  out = std::move(outputs.values);
}

}  // namespace

void reference_depthwise(const std::map<std::string, double>& dims, const Values& in, Values& out) {
  run(reference_of_depthwise_conv3d, dims, in, out);
}
void reference_topk(const std::map<std::string, double>& dims, const Values& in, Values& out) {
  run(reference_of_topk_sigmoid, dims, in, out);
}

}  // namespace burnish::emulation
