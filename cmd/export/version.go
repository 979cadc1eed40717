package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set when the command is built: -ldflags "-X main.version=... -X main.commit=...".
var version, commit string

// build is what is known of how this command was made.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// thisBuild prefers what the linker was told to what the compiler noted.
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

func (a *app) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Prints version, commit and Go version",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.resolve(cmd); err != nil {
				return err
			}
			return a.writeVersion(output)
		},
	}
	choose(group{cmd.Flags(), generalGroup}, &output, "output", "FORMAT", outputText, []string{outputText, outputJSON},
		"what stands on stdout: text or json")
	return cmd
}

func (a *app) writeVersion(output string) error {
	b := thisBuild()
	if output == outputJSON {
		return writeJSON(a.stdout, b)
	}
	_, err := fmt.Fprintf(a.stdout, "growth-export %s, commit %s, %s\n", b.Version, b.Commit, b.Go)
	return err
}
