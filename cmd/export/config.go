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
	cmd := newCommand(a, o, nil, "config base-url dest output", &cobra.Command{
		Use:   "config check",
		Short: "Checks the configuration without sending a request",
		Long: "Checks the settings of all commands, from flags, environment and configuration file, whether credentials" +
			" are set, and whether a destination folder is writable. It lists the settings of run with their sources," +
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
	// Other commands stop at the first mistake, but this one lists the mistakes in all individual settings.
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.checkConfig(cmd.Context(), cmd, o) }
	o.define(cmd)
	return cmd
}

// setSetting is a setting that was given, with its value and its source.
type setSetting struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Source  string `json:"source"`
}

// checkConfig checks the settings of run and of all other commands, and lists the settings of run. If there are
// mistakes, it returns an error, and lists the mistakes if there is more than one. The settings of run are checked in
// combination only if each of them is valid by itself.
func (a *app) checkConfig(ctx context.Context, cmd *cobra.Command, o *runOptions) error {
	from, mistakes := a.resolveAll(cmd)
	for _, other := range cmd.Root().Commands() {
		if other.Flags().Lookup("config") != nil && from.given("config") {
			_ = other.Flags().Set("config", o.config) // any text is valid
		}
		_, more := a.resolveAll(other)
		mistakes = append(mistakes, more...)
	}
	if len(mistakes) == 0 {
		mistakes = a.checkTogether(ctx, o, from)
	} else if simulated, err := o.chooseService(from); err == nil && !simulated {
		if _, err := a.credentials(); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	texts := make([]string, 0, len(mistakes))
	for _, mistake := range mistakes { // several commands may report a mistake in the same setting
		if text := wording.OneLine(mistake); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	value := struct {
		Settings    []setSetting `json:"settings"`
		Credentials []string     `json:"credentials"`
		Problems    []string     `json:"problems"`
	}{[]setSetting{}, notNil(a.secretsSet()), texts}
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
	unwritten := a.writeOutput(o.output, value, configText(value.Settings, value.Credentials, texts))
	switch {
	case len(texts) == 1:
		return mistakes[0]
	case len(texts) > 1 && o.output == outputJSON:
		return usagef("the configuration has %d mistakes; the first is: %s", len(texts), texts[0])
	case len(texts) > 1:
		return usagef("the configuration has %d mistakes, which are listed on stdout", len(texts))
	}
	return unwritten
}

// checkTogether checks the settings of run in combination, after each has been found valid by itself, and also the
// credentials and the destination. It returns the first mistake and, if credentials are missing, also any mistake in
// the destination.
func (a *app) checkTogether(ctx context.Context, o *runOptions, from sources) (mistakes []error) {
	_, settings, disconnect, err := a.connect(ctx, o, from, a.openOffline)
	if err == nil {
		disconnect()
		if settings.EffectiveDate == termDates {
			settings.EffectiveDate = a.now().UTC().Format(time.DateOnly)
		}
		err = settings.Check()
	} else if simulated, unknown := o.chooseService(from); unknown == nil && !simulated {
		// If the credentials are missing, connect fails before its last step, which would have checked the destination.
		if _, missing := a.credentials(); missing != nil && missing.Error() == err.Error() {
			o.log = a.newLogger(&o.general)
			if _, unusable := a.openOffline(ctx, &o.destination, from); unusable != nil {
				mistakes = append(mistakes, unusable)
			}
		}
	}
	if err != nil {
		mistakes = append(mistakes, err)
	}
	return mistakes
}

// maxShownValue is the maximum number of characters of a value in the list of settings, because a value may be a long
// list.
const maxShownValue = 80

func configText(settings []setSetting, credentials, mistakes []string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, s := range settings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Setting, s.Value, s.Source)
	}
	_ = t.Flush() // Writing to a strings.Builder cannot fail.
	if len(credentials) > 0 {
		fmt.Fprintf(&b, "credentials: %s\n", strings.Join(credentials, ", "))
	}
	if len(mistakes) > 1 { // a single mistake goes to stderr
		for _, mistake := range mistakes {
			fmt.Fprintf(&b, "mistake: %s\n", mistake)
		}
	}
	if len(mistakes) > 0 {
		return b.String()
	}
	b.WriteString("The configuration is valid. No request was sent; growth-export doctor checks the service and the destination.\n")
	return b.String()
}

// secretsSet returns the names of the environment variables that set secrets.
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
