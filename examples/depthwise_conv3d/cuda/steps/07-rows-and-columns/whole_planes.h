// For kernels that take whole planes: products of pairs of rows, and barriers in shared memory
// (sm_90 and newer).
//
// A product on the tensor cores is 16 slots of 2 rows by 8 columns of inputs times a band matrix
// that takes them to 2 rows by 4 columns of results; 9 of them (3 pairs of rows of inputs, 3
// depths) are 52 % taps. A slot is a column block of 4 in a band of 8 rows, and its warp walks down
// the band: a fragment of inputs is loaded once for the 9 products that need it, into sums of 4
// pairs of rows and of the 3 planes of results that a plane of inputs takes part in. Weights stay
// in registers.

constexpr int kPairs = 4;                // pairs of rows of a band
constexpr int kBlocks = 20, kBands = 6;  // 120 slots
constexpr int kWarps = 8;                // with 16 slots each

__device__ inline unsigned shared_address(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
__device__ inline void start_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ inline unsigned narrow_pair(float even, float odd) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(odd), "f"(even));
  return both;
}

// sums = bias + rows times band.
__device__ inline void multiply_first(float (&sums)[4], const unsigned (&rows)[4],
                                      const unsigned (&band)[2], float bias) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, "
      "{%10, %10, %10, %10};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(band[0]), "r"(band[1]),
        "f"(bias));
}
