package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDoctorExit checks that doctor ends like a run if the destination is not writable or it is interrupted, and leaves
// nothing behind.
func TestDoctorExit(t *testing.T) {
	t.Parallel()
	doctor := func(ctx context.Context, dest string) (code int, stdout string) {
		var out, stderr bytes.Buffer
		code = execute(ctx, []string{"doctor", "--simulate", "--dest", dest}, nil, nil, &out, &stderr)
		return code, out.String()
	}
	if os.Geteuid() != 0 { // root may write everywhere
		locked := filepath.Join(t.TempDir(), "locked")
		require.NoError(t, os.Mkdir(locked, 0o500))
		code, stdout := doctor(t.Context(), locked)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stdout, "FAIL  destination")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none := filepath.Join(t.TempDir(), "none")
	code, stdout := doctor(ctx, none)
	require.Equal(t, exitInterrupted, code)
	require.Empty(t, stdout)
	require.NoDirExists(t, none)
}
