package main

import (
	"context"
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
	work := func(context.Context, *string, sources) error {
		return writeText(a.stdout, formats[slices.Index(names, format)].Text())
	}
	cmd := newCommand(a, &format, work, "", &cobra.Command{
		Use:     "schema",
		Short:   "Prints the tables: documentation, JSON, DDL, dbt sources",
		Example: "  growth-export schema --format duckdb",
	})
	choose(group{cmd.Flags(), generalGroup}, &format, "format", "FORMAT", names[0], names, strings.Join(names, ", "))
	return cmd
}
