package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/growthexport/internal/pipeline"
	"example.org/growthexport/internal/telemetry"
	"example.org/growthexport/internal/wording"
)

// app is what the commands share: the process's surroundings, handed in.
type app struct {
	env    map[string]string
	stdout io.Writer
	stderr *screen
	now    func() time.Time
	// records is set once log lines are to be JSON: errors then are too.
	records *slog.Logger
	// who identifies the command and its run in every JSON log line.
	who identity
	// pending are warnings from before the logger exists.
	pending []string
	// telemetry is nil unless a collector is to be told of the command.
	telemetry *telemetry.Telemetry
	// code is the exit code of a command that ended without an error.
	code int
}

// run is the whole command: it returns the exit code.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: make(map[string]string), stdout: stdout, stderr: newScreen(stderr), now: time.Now}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		a.env[name] = value
	}
	root := a.rootCommand(args)               //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(append([]string{}, args...)) // cobra takes the process's own for nil
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	for _, warning := range a.pending {
		fmt.Fprintf(a.stderr, "growth-export: warning: %s\n", warning)
	}
	if err != nil {
		err = conclude(ctx, err)
		a.complain(err)
		return exitCode(err)
	}
	return a.code
}

// conclude is the error that a command ends with.
func conclude(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, pipeline.ErrUsage) && !errors.Is(err, errInterrupted) {
		return errInterrupted // whatever it says, it says it because of that
	}
	return err
}

// complain writes an error to stderr as one line.
func (a *app) complain(err error) {
	if a.records != nil {
		a.records.Error("growth-export", "error", oneLine(err))
		return
	}
	fmt.Fprintf(a.stderr, "growth-export: %s\n", oneLine(err))
}

func (a *app) rootCommand(args []string) *cobra.Command {
	var versionAsked bool
	root := &cobra.Command{
		Use:   "growth-export",
		Short: "Exports test results and enrollment to Parquet snapshots",
		Long:  "Takes snapshots of a student assessment service and publishes them as Parquet.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && versionAsked {
				return nil
			}
			if len(args) == 0 {
				_ = cmd.Help() // It cannot fail: it writes to stdout, whose errors it drops.
				return usagef("name a command: %s; see growth-export --help", strings.Join(commandNames(cmd), ", "))
			}
			return unknownCommand(cmd, args[0])
		},
		RunE:          func(*cobra.Command, []string) error { return a.writeVersion(outputText) },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().BoolVar(&versionAsked, "version", false, "the same as the command version")
	commands := a.commands()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.help(cmd, commands, slices.Contains(args, "-h")) })
	root.SetHelpCommand(helpCommand(root))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// The flags of an unknown command are unknown to the root too.
		if cmd == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			return unknownCommand(root, args[0])
		}
		return flagError(cmd, err)
	})
	for _, section := range commands {
		root.AddCommand(section.commands...)
	}
	for _, cmd := range root.Commands() {
		if slices.Contains(measuredCommands(), cmd.Name()) {
			a.measure(cmd)
		}
	}
	addCompletions(root)
	return root
}

// section is some commands that belong together.
type section struct {
	title    string
	commands []*cobra.Command
}

// commands are all of them, in the order in which help shows them.
func (a *app) commands() []section {
	return []section{
		{"Take snapshots", []*cobra.Command{a.doctorCommand(), a.planCommand(), a.runCommand(), a.publishCommand()}},
		{"Look at them", []*cobra.Command{a.statusCommand(), a.reportCommand(), a.verifyCommand(), a.sqlCommand(), a.schemaCommand()}},
		{"Remove them", []*cobra.Command{a.pruneCommand(), a.purgeCommand()}},
		{"Besides", []*cobra.Command{a.simulateCommand(), a.completionCommand(), a.versionCommand()}},
	}
}

func unknownCommand(root *cobra.Command, name string) error {
	return usagef("unknown command %s%s; see growth-export --help", quoted(name), didYouMean("", name, commandNames(root)))
}

// helpCommand is `help COMMAND`, the same as `COMMAND --help`.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "help [command]",
		Short:  "Shows the help of a command",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// noArguments refuses arguments that are no flags: a forgotten --datasets must
// not be taken for nothing.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + cmd.CommandPath() + " --help"
	if cmd.Name() == "schema" {
		hint = "it prints every table, search its output: growth-export schema | less -p " + wording.ShellWord(args[0])
	}
	return usagef("%s takes flags only, not %s; %s", cmd.Name(), quoted(args[0]), hint)
}

// commandNames lists the commands that help shows.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	return names
}

// flagError words what pflag found wrong with the arguments. It never repeats
// the value of a flag that is not known, which may be a secret.
func flagError(cmd *cobra.Command, err error) error {
	hint := "; see " + cmd.CommandPath() + " --help"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := unknown.GetSpecifiedName()
		if variable, secret := secretName(name); secret {
			return usagef("--%s: %s", name, notFromFlags(variable))
		}
		if word, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "="); word != "" {
			if variable, secret := secretName(word); secret {
				return usagef("-%s: %s", word, notFromFlags(variable))
			}
			// The rest of the word may be a value: only names of flags are repeated.
			return usagef("unknown flag -%s%s%s", name, didYouMean("--", word, flagNames(cmd)), hint)
		}
		return usagef("unknown flag --%s%s%s", name, didYouMean("--", name, flagNames(cmd)), hint)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usagef("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usagef("--%s needs a value%s", missing.GetFlag().Name, hint)
	}
	return usagef("%w%s", err, hint)
}

func notFromFlags(variable string) string {
	return "secrets are not taken from flags, which every user of the machine can read: set " + variable +
		", or " + variable + fileSuffix + " to the path of a file"
}

// flagNames lists the flags of a command that a user can set.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	return names
}
