//go:build unix

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/deltalake"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// TestCheckpointEveryHundredCommits writes a checkpoint of the hundredth commit after the first. verify compares it with
// the log. A purge warns about files of other programs, but not about the checkpoint.
func TestCheckpointEveryHundredCommits(t *testing.T) {
	t.Parallel()
	disk := &testStorage{root: t.TempDir()}
	dest := disk.newDest()
	snapshottest.PublishWorld(t, dest.open(t), "night", snapshottest.Datasets("schools", "students"))
	dest.command(t, "delta-lake").runOK()
	commit := func(version int) {
		name := dest.path(fmt.Sprintf("students/_delta_log/%020d.json", version))
		require.NoError(t, os.WriteFile(name, fmt.Appendf(nil, `{"txn":{"appId":"growth-export","version":%d}}`, version), 0o600))
	}
	for version := 1; version < 100; version++ {
		commit(version)
	}
	const checkpoint = "students/_delta_log/00000000000000000100.checkpoint.parquet"
	require.Contains(t, dest.command(t, "delta-lake").runOK().stdout, "students: version 99 is up to date, 1 live file\n")
	commit(100)
	require.Contains(t, dest.command(t, "delta-lake").runOK().stdout, "students: version 100 is up to date, 1 live file, checkpoint of version 100 written\n")
	require.True(t, dest.has(checkpoint))
	require.True(t, dest.has("students/_delta_log/_last_checkpoint"))
	require.Contains(t, dest.command(t, "verify", "--delta-lake").runOK().stdout, "OK: the Delta logs of 2 tables: 2 live files, 6 rows, 1 checkpoint\n")

	const other = "students/_delta_log/00000000000000000101.checkpoint.parquet"
	require.NoError(t, os.WriteFile(dest.path(other), []byte("PAR1"), 0o600))
	purged := dest.command(t, "purge", "--schools", snapshottest.Gone).runOK()
	require.Contains(t, purged.stdout, other+", which another program has written")
	require.NotContains(t, purged.stdout, checkpoint)

	require.NoError(t, os.WriteFile(dest.path(checkpoint), []byte("PAR1"), 0o600))
	found := dest.command(t, "verify", "--delta-lake").run()
	require.Equal(t, exitFailed, found.code)
	require.Contains(t, found.stdout, checkpoint+": is damaged: ")
}

// TestForeignTexts lists the last commits of other programs, and counts the earlier ones.
func TestForeignTexts(t *testing.T) {
	t.Parallel()
	var foreign []deltalake.Foreign
	for v := range int64(7) {
		foreign = append(foreign, deltalake.Foreign{Version: v, Operation: "DELETE"})
	}
	texts := foreignTexts(foreign)
	require.Len(t, texts, 1+maxForeign)
	require.Equal(t, "other programs also wrote 2 earlier versions", texts[0])
	require.Contains(t, texts[1], "version 2 ")
	require.Contains(t, texts[maxForeign], "version 6 ")
	require.Len(t, foreignTexts(foreign[:maxForeign]), maxForeign)
}
