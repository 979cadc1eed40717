package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/schemas/render"
)

func (a *app) schemaCommand() *cobra.Command {
	formats := render.Formats()
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].Name
	}
	var format string
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Prints the tables: documentation, JSON, DDL, sources for dbt",
		Args:    noArguments,
		Example: "  growth-export schema --format duckdb",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.resolve(cmd); err != nil {
				return err
			}
			return formats[slices.Index(names, format)].Write(a.stdout)
		},
	}
	choose(group{cmd.Flags(), generalGroup}, &format, "format", "FORMAT", names[0], names, strings.Join(names, ", "))
	return cmd
}
