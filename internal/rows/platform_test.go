package rows

import (
	"go/build"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNeeds64Bits checks that the package does not compile on platforms with 32-bit ints.
func TestNeeds64Bits(t *testing.T) {
	t.Parallel()
	for arch, refused := range map[string]bool{"386": true, "arm": true, "mips": true, "mipsle": true, "amd64": false, "arm64": false, "riscv64": false} {
		platform := build.Default
		platform.GOARCH = arch
		of, err := platform.ImportDir(".", 0)
		require.NoError(t, err)
		if refused {
			require.Contains(t, of.GoFiles, "platform_32bit.go", arch)
		} else {
			require.NotContains(t, of.GoFiles, "platform_32bit.go", arch)
		}
	}
}
