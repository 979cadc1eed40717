package s3

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPartSizes expects equal parts of at least 8 MiB, and at most 10,000.
func TestPartSizes(t *testing.T) {
	t.Parallel()
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	for _, test := range []struct {
		size, partSize int64
		parts          int
	}{
		{0, 8 * mib, 1},
		{1, 8 * mib, 1},
		{8 * mib, 8 * mib, 1},
		{8*mib + 1, 8 * mib, 2},
		{10_000 * 8 * mib, 8 * mib, 10_000},
		{10_000*8*mib + 1, 9 * mib, 8889},
		{100 * gib, 11 * mib, 9310},
		{5 * tib, 525 * mib, 9987},
	} {
		partSize := partSizeOf(test.size)
		require.Equal(t, test.partSize, partSize, "%d", test.size)
		require.Equal(t, test.parts, partsOf(test.size, partSize), "%d", test.size)
	}
}
