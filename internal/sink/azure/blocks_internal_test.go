package azure

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBlocks expects equal blocks of at least 8 MiB, at most 50,000, with ids of equal length that can be read back.
func TestBlocks(t *testing.T) {
	t.Parallel()
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	length := 0
	for _, test := range []struct {
		size, blockSize int64
		blocks          int
		last            int64
	}{
		{0, 8 * mib, 1, 1},
		{1, 8 * mib, 1, 1},
		{8 * mib, 8 * mib, 1, 8 * mib},
		{8*mib + 1, 8 * mib, 2, 1},
		{50_000 * 8 * mib, 8 * mib, 50_000, 8 * mib},
		{50_000*8*mib + 1, 9 * mib, 44_445, 4*mib + 1},
		{5 * tib, 105 * mib, 49_933, 20 * mib},
	} {
		require.Equal(t, test.blockSize, blockSizeOf(test.size), "%d", test.size)
		token := stagedBlocks{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Begun: 1_795_737_600, Bytes: test.size, BlockSize: test.blockSize}
		blocks := token.blocks()
		require.Len(t, blocks, test.blocks, "%d", test.size)
		require.Equal(t, test.last, blocks[len(blocks)-1].size, "%d", test.size)
		for _, b := range []block{blocks[0], blocks[len(blocks)-1]} {
			id := b.id()
			back, ok := parseBlock(id)
			require.True(t, ok)
			require.Equal(t, b, back)
			if length == 0 {
				length = len(id)
			}
			require.Len(t, id, length)
			require.LessOrEqual(t, base64.StdEncoding.DecodedLen(len(id)), 64)
		}
	}
	for _, id := range []string{"", "AAAA", "?", base64.StdEncoding.EncodeToString([]byte("a.1.2.3")), base64.StdEncoding.EncodeToString([]byte("a.b.c.d"))} {
		_, ok := parseBlock(id)
		require.False(t, ok, id)
	}
}
