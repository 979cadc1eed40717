package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	var output string
	work := func(context.Context, *string, sources) error {
		return a.writeOutput(output, thisBuild(), thisBuild().String())
	}
	cmd := newCommand(a, &output, work, "", &cobra.Command{
		Use:   "version",
		Short: "Prints version, commit and Go version",
	})
	choose(group{cmd.Flags(), generalGroup}, &output, "output", "FORMAT", outputText, []string{outputText, outputJSON},
		"output format: text or json")
	return cmd
}
