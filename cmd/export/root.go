package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// execute runs the command and returns its exit code.
func execute(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: make(map[string]string), stdin: stdin, stdout: stdout, stderr: newScreen(stderr), now: time.Now}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		a.env[name] = value
	}
	root := a.rootCommand(args)               //nolint:contextcheck // cobra hands the context to each command
	root.SetArgs(append([]string{}, args...)) // for nil, cobra uses os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	for _, warning := range a.pending {
		fmt.Fprintf(a.stderr, "growth-export: warning: %s\n", warning)
	}
	code := a.code
	if err != nil {
		err = conclude(ctx, err)
		a.complain(err)
		code = exitCode(err)
	}
	if a.result == nil && (code == exitOK || !a.wantsJSON(cmd, args)) {
		return code
	}
	if unwritten := a.writeResult(code, cmp.Or(err, a.problem)); unwritten != nil {
		a.complain(unwritten)
		switch a.result.(type) {
		case jsonSummary, jsonSummaries: // the exit code describes the run
		default:
			code = max(code, exitFailed)
		}
	}
	return code
}

func (a *app) rootCommand(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:     "growth-export",
		Version: thisBuild().String(),
		Long:    "Takes snapshots of a student assessment service and publishes them as Parquet.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help() // it always succeeds
			return usagef("give a command: %s; see growth-export --help", strings.Join(commandNames(cmd), ", "))
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("{{.Version}}")
	commands := a.sections()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.writeHelp(cmd, commands, slices.Contains(args, "-h")) })
	root.SetHelpCommand(helpCommand(root))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// The flags of an unknown command are parsed as flags of the root command.
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

// sections returns all commands in the order of help.
func (a *app) sections() []section {
	return []section{
		{"", []*cobra.Command{a.configCommand(), a.doctorCommand(), a.planCommand(), a.runCommand(), a.publishCommand()}},
		{"Inspect snapshots", []*cobra.Command{a.statusCommand(), a.reportCommand(), a.diffCommand(), a.findCommand(), a.verifyCommand(), a.sqlCommand(), a.schemaCommand()}},
		{"Other", []*cobra.Command{a.historyCommand(), a.deltaLakeCommand(), a.pruneCommand(), a.purgeCommand(), a.simulateCommand(), a.completionCommand(), a.versionCommand()}},
	}
}

// helpCommand returns the command `help COMMAND`, which does the same as `COMMAND --help`.
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

// commandNames returns the names of the commands that help shows.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	return names
}

func unknownCommand(root *cobra.Command, name string) error {
	return usagef("unknown command %s%s; see growth-export --help", quoted(name), didYouMean("", name, commandNames(root)))
}

// flagError rewords an error from pflag. It never repeats the value of an unknown flag, which may be a secret.
func flagError(cmd *cobra.Command, err error) error {
	hint := "; see " + cmd.CommandPath() + " --help"
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name, dashes := unknown.GetSpecifiedName(), "--"
		word := name
		if short, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "="); short != "" {
			// The rest of the word may be a value, so repeat only its first letter or the name of a secret.
			word, dashes = short, "-"
		}
		if variable, secret := secretName(word); secret {
			return usagef("%s%s: secrets cannot be passed as flags, which every user of the machine can read: set %s,"+
				" or %s%s to the path of a file", dashes, word, variable, variable, fileSuffix)
		}
		return usagef("unknown flag %s%s%s%s", dashes, name, didYouMean("--", word, flagNames(cmd)), hint)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usagef("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usagef("--%s needs a value%s", missing.GetFlag().Name, hint)
	}
	return usagef("%w%s", err, hint)
}
