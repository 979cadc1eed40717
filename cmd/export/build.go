package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Set when the command is built: -ldflags "-X main.version=... -X main.commit=...".
var version, commit string

// build identifies a build of this command.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// thisBuild returns this build. It prefers the values set at link time to the ones recorded by the compiler.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.Go = info.GoVersion
		b.Version = cmp.Or(b.Version, info.Main.Version)
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				b.Commit = cmp.Or(b.Commit, setting.Value)
			}
		}
	}
	b.Version = cmp.Or(b.Version, "(devel)")
	b.Commit = cmp.Or(b.Commit, "unknown")
	return b
}

func (b build) String() string {
	return fmt.Sprintf("growth-export %s, commit %s, %s\n", b.Version, b.Commit, b.Go)
}
