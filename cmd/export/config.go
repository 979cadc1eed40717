package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/wording"
)

func (a *app) configCommand() *cobra.Command {
	o := &runOptions{}
	var cmd *cobra.Command
	cmd = newCommand(a, o, func(ctx context.Context, o *runOptions, from sources) error {
		return a.checkConfig(ctx, cmd, o, from)
	}, "config base-url dest output", &cobra.Command{
		Use:   "config check",
		Short: "Checks the configuration without sending a request",
		Long: "Checks the settings of all commands in flags, environment and configuration file, that credentials" +
			" are set, and that a destination folder is writable. It lists the settings of run with their sources," +
			" and sends no request; doctor checks the service and the destination.",
		Example:   "  growth-export config check --config nightly.yaml",
		ValidArgs: []cobra.Completion{"check"},
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if !slices.Equal(args, []string{"check"}) {
			return usagef("config has one subcommand: growth-export config check; see growth-export config --help")
		}
		return nil
	}
	o.define(cmd)
	return cmd
}

// setSetting is a setting that is not at its default.
type setSetting struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Source  string `json:"source"`
}

// checkConfig checks the settings of run and of all other commands.
func (a *app) checkConfig(ctx context.Context, cmd *cobra.Command, o *runOptions, from sources) error {
	for _, other := range cmd.Root().Commands() {
		if other.Flags().Lookup("config") != nil && from.given("config") {
			_ = other.Flags().Set("config", o.config) // any text is valid
		}
		if _, err := a.resolve(other); err != nil {
			return err
		}
	}
	_, settings, disconnect, err := a.connect(ctx, o, from, a.openOffline)
	if err != nil {
		return err
	}
	disconnect()
	if settings.EffectiveDate == termDates {
		settings.EffectiveDate = a.now().UTC().Format(time.DateOnly)
	}
	if err := settings.Check(); err != nil {
		return err
	}
	value := struct {
		Settings    []setSetting `json:"settings"`
		Credentials []string     `json:"credentials"`
	}{[]setSetting{}, notNil(a.secretsSet())}
	for _, f := range flagsOf(cmd) {
		if !from.given(f.Name) {
			continue
		}
		s := setSetting{f.Name, wording.Cut(f.Value.String(), maxShownValue), strings.TrimSuffix(from[f.Name].name, ": "+f.Name)}
		if f.Name == "on-finish" || f.Name == "students" {
			s.Value = "(set)" // it may contain a token or identify students
		}
		value.Settings = append(value.Settings, s)
	}
	return a.writeOutput(o.output, value, configText(value.Settings, value.Credentials))
}

// maxShownValue is the maximum length of a value in the list of settings, because a value may be a long list.
const maxShownValue = 80

func configText(settings []setSetting, credentials []string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, s := range settings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Setting, s.Value, s.Source)
	}
	_ = t.Flush() // A strings.Builder returns no errors.
	if len(credentials) > 0 {
		fmt.Fprintf(&b, "credentials: %s\n", strings.Join(credentials, ", "))
	}
	b.WriteString("The configuration is valid. No request was sent; growth-export doctor checks the service and the destination.\n")
	return b.String()
}

// secretsSet returns the variables that set secrets.
func (a *app) secretsSet() []string {
	var names []string
	for _, variable := range secretVariables() {
		for _, name := range []string{variable, variable + fileSuffix} {
			if a.env[name] != "" {
				names = append(names, name)
			}
		}
	}
	return names
}
