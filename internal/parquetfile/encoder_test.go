package parquetfile

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCodesAreTheSameOnEveryCPU compares encoded codes with a slow encoder's, because the library's encoder
// depends on the CPU.
func TestCodesAreTheSameOnEveryCPU(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 8))
	e := &encoder{}
	var calls int
	for range 2000 {
		e.codes = e.codes[:0]
		most := 1 + r.Int32N(300)
		for range r.IntN(40) {
			n := []int{1, 3, 4, 4, 4, 8, 8, 20}[r.IntN(8)]
			e.codes = append(e.codes, slices.Repeat([]int32{r.Int32N(most)}, n)...)
		}
		if sameOnEveryCPU(e.codes) < len(e.codes) {
			calls++
		}
		require.NoError(t, e.encodeCodes(&dictionary{used: e.codes}))
		require.Equal(t, appendRuns(nil, e.codes, int(e.width)), append([]byte{}, e.values...), "%v", e.codes)
	}
	require.Greater(t, calls, 500)
}

// appendRuns encodes codes in the same way as the library on a CPU with AVX2.
func appendRuns(dst []byte, codes []int32, width int) []byte {
	if width == 0 {
		return binary.AppendUvarint(dst, uint64(len(codes))<<1)
	}
	equal := func(codes []int32) int {
		n := 0
		for n < len(codes) && codes[n] == codes[0] {
			n++
		}
		return n
	}
	repeat := func(n int) {
		dst = binary.AppendUvarint(dst, uint64(n)<<1)
		dst = append(dst, binary.LittleEndian.AppendUint32(nil, uint32(codes[0]))[:(width+7)/8]...)
		codes = codes[n:]
	}
	for len(codes) >= 8 {
		if n := equal(codes) / 8 * 8; n > 0 {
			repeat(n)
			continue
		}
		n := 8
		for n+8 <= len(codes) && (equal(codes[n:n+4]) < 4 || equal(codes[n+4:n+8]) < 4) {
			n += 8
		}
		dst = binary.AppendUvarint(dst, uint64(n/8)<<1|1)
		packed := make([]byte, n/8*width)
		for i, code := range codes[:n] {
			for bit := range width {
				at := i*width + bit
				packed[at/8] |= byte(code>>bit&1) << (at % 8)
			}
		}
		dst, codes = append(dst, packed...), codes[n:]
	}
	for len(codes) > 0 {
		repeat(equal(codes))
	}
	return dst
}
