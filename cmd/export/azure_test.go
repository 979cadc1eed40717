//go:build unix

package main

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/snapshot"
)

// TestAzureSignature runs commands with a shared access signature, then with one that has expired, which counts as a
// mistake in the settings. The signature never appears in an output, a log or an object.
func TestAzureSignature(t *testing.T) {
	t.Parallel()
	cloud := newAzureCloud(t).(*azureCloud)
	s := (&testStorage{cloud: cloud}).newDest()
	command := func(expiry time.Time, words ...string) (result processResult) {
		t.Helper()
		token := cloud.server.Signature(t, cloud.container, expiry)
		values, err := url.ParseQuery(token)
		require.NoError(t, err)
		p := s.command(t, words[0], words[1:]...)
		p.cmd.Env = append(p.cmd.Env, "AZURE_STORAGE_CONNECTION_STRING=", "AZURE_STORAGE_SAS_TOKEN="+token)
		result = p.run()
		for _, secret := range []string{values.Get("sig"), url.QueryEscape(values.Get("sig")), "sig="} {
			require.NotContains(t, result.stdout+result.stderr, secret)
			for _, path := range s.objects(t) {
				require.NotContains(t, string(s.read(t, path)), secret, path)
			}
		}
		return result
	}
	run := []string{"run", "--simulate", "--simulate-schools", "2", "--datasets", "schools,students", "--log-level", "debug"}
	result := command(time.Now().Add(time.Hour), run...)
	require.Zero(t, result.code, result.stderr)
	for _, words := range [][]string{run, {"status"}} {
		result = command(time.Now().Add(-time.Minute), words...)
		require.Equal(t, exitUsage, result.code, result.stderr)
		require.Contains(t, result.stderr, "check AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, whether they have expired")
	}
}

// TestAzureExpiry removes the blocks of a staged file, as the service does after a week. Publishing says so, and the same run
// stages the file again.
func TestAzureExpiry(t *testing.T) {
	t.Parallel()
	cloud := newAzureCloud(t).(*azureCloud)
	s := (&testStorage{cloud: cloud}).newDest()
	run := []string{"--simulate", "--simulate-schools", "2", "--datasets", "schools,students", "--run-id", "night"}
	s.command(t, "run", append(run, "--shard", "0/2")...).runOK()
	var plan snapshot.Plan
	s.readJSON(t, snapshot.PlanPath("night"), &plan)
	cloud.server.Expire(t, cloud.container, s.prefix+"/"+plan.DataPath("students", 0))
	early := s.command(t, "publish", "--run-id", "night").run()
	require.Equal(t, exitFailed, early.code, early.stderr)
	require.Contains(t, early.stderr, "their staged files are damaged or gone: run its shards again")
	for _, path := range s.objects(t) {
		require.True(t, strings.HasPrefix(path, "_"), path)
	}
	s.command(t, "run", run...).runOK()
	s.requireReadable(t)
	require.Len(t, s.currentManifests(t), 1)
	require.Empty(t, s.staged(t))
}
