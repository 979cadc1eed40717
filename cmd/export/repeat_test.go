package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepeat expects that advised commands repeat the flags of a process that select its destination.
func TestRepeat(t *testing.T) {
	t.Parallel()
	a := &app{env: map[string]string{}}
	root := a.rootCommand(nil)
	cmd, _, err := root.Find([]string{"run"})
	require.NoError(t, err)
	require.NoError(t, cmd.ParseFlags([]string{
		"--dest", "s3://bucket/a b", "--s3-endpoint", "https://host:9000", "--s3-path-style", "--config", `/etc/"night".yaml`, "--history",
		"--concurrency", "4", "--base-url", "https://service.example",
	}))
	r := newRepeater(cmd)
	const place = `--dest 's3://bucket/a b' --s3-endpoint https://host:9000 --s3-path-style`
	const file = ` --config '/etc/"night".yaml'`
	for text, want := range map[string]string{
		"growth-export history --rebuild includes it": "growth-export history " + place + file + " --rebuild includes it",
		"growth-export publish --dest 's3://bucket/a b' --run-id r --accept-held": "growth-export publish --s3-endpoint https://host:9000 " +
			"--s3-path-style --history" + file + " --dest 's3://bucket/a b' --run-id r --accept-held",
		"growth-export verify --run-id r; growth-export status": "growth-export verify " + place + file + " --run-id r; growth-export status " + place + file,
		"run the same growth-export run command":                "run the same growth-export run command",
		"growth-export doctor checks the settings":              "growth-export doctor --base-url https://service.example " + place + file + " checks the settings",
		"growth-export doctor, plan or run":                     "growth-export doctor, plan or run",
		"see growth-export publish --help":                      "see growth-export publish --help",
		"growth-export schema --format json":                    "growth-export schema --format json",
		"growth-export nothing":                                 "growth-export nothing",
		"/etc/growth-export/key":                                "/etc/growth-export/key",
	} {
		require.Equal(t, want, r.inText(text))
		require.Equal(t, r.inText(text), r.inText(r.inText(text)), "flags are added once")
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		var decoded string
		require.NoError(t, json.Unmarshal([]byte(r.inJSON(string(encoded))), &decoded))
		require.Equal(t, r.inText(text), decoded)
	}
	require.Equal(t, "growth-export status", repeater{}.inText("growth-export status"))
}
