package main

import (
	"cmp"
	"crypto/fips140"
	"fmt"
	"runtime/debug"
)

// version and commit are set at build time: -ldflags "-X main.version=... -X main.commit=...".
var version, commit string

// build identifies a build of this command.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	FIPS    fips   `json:"fips140"`
}

// fips describes Go's cryptographic module for FIPS 140-3.
type fips struct {
	// Enabled is true in FIPS mode. Only is also true if it is an error to use an algorithm that is not approved.
	Enabled bool `json:"enabled"`
	Only    bool `json:"only"`
	// Module is the version of the frozen cryptographic module, or "latest" if the module is part of this version of Go
	// and is not frozen.
	Module string `json:"module"`
}

// thisBuild describes this build. Values set at link time take precedence over values recorded by the compiler.
func thisBuild() build {
	b := build{
		Version: version, Commit: commit, Go: "unknown",
		FIPS: fips{Enabled: fips140.Enabled(), Only: fips140.Enforced(), Module: fips140.Version()},
	}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.Go = info.GoVersion
		b.Version = cmp.Or(b.Version, info.Main.Version)
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				b.Commit = cmp.Or(b.Commit, setting.Value)
			case "GOFIPS140": // this value is more precise than fips140.Version
				b.FIPS.Module = setting.Value
			}
		}
	}
	b.Version = cmp.Or(b.Version, "(devel)")
	b.Commit = cmp.Or(b.Commit, "unknown")
	return b
}

func (b build) String() string {
	return fmt.Sprintf("growth-export %s, commit %s, %s, FIPS 140-3 mode %s\n", b.Version, b.Commit, b.Go, b.FIPS)
}

// String returns the FIPS mode and the version of the module in words.
func (f fips) String() string {
	mode := "off"
	switch {
	case f.Only:
		mode = "only"
	case f.Enabled:
		mode = "on"
	}
	if f.Module == "latest" {
		return mode + ", no frozen module"
	}
	return mode + ", module " + f.Module
}
