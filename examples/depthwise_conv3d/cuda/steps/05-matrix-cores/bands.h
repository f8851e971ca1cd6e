// Products on the tensor cores with a band matrix of taps.

// sums += rows times band: 16 rows of 16 inputs, 16 inputs by 8 results, bf16.
__device__ inline void multiply(float (&sums)[4], const unsigned (&rows)[4],
                                const unsigned (&band)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(band[0]), "r"(band[1]));
}

// The taps of one row of the filter as a band: a lane has inputs k and k + 1, and k + 8 and k + 9,
// of result n. A result n takes input k with tap k - n.
__device__ inline void band_of(unsigned (&band)[2], const unsigned short* taps, int k, int n) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int tap = k + 8 * half - n;
    const unsigned low = tap >= 0 && tap < 5 ? taps[tap] : 0;
    const unsigned high = tap + 1 >= 0 && tap + 1 < 5 ? taps[tap + 1] : 0;
    band[half] = low | high << 16;
  }
}
