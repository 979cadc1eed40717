package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/wording"
)

// newCommand completes and returns cmd, which takes only flags. When the command runs, its settings are resolved into o
// before work is called. If a setting is invalid, work is not called, but the --on-finish command still runs. common
// lists the flags that -h shows, in order. If it is empty, -h shows all flags.
func newCommand[O any](
	a *app, o *O, work func(ctx context.Context, o *O, from sources) error, common string, cmd *cobra.Command,
) *cobra.Command {
	cmd.Annotations = map[string]string{commonAnnotation: common}
	cmd.Args = noArguments
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		from, err := a.resolve(cmd)
		a.repeat = newRepeater(cmd)
		if err == nil {
			return work(cmd.Context(), o, from)
		}
		if f := cmd.Flags().Lookup("on-finish"); f != nil {
			return a.endBeforeRun(cmd.Context(), f.Value.String(), err) // --on-finish is set even if other settings are invalid
		}
		return err
	}
	return cmd
}

// noArguments returns a usage error if there are arguments. Otherwise, a list of datasets given without --datasets, for
// example, would be silently ignored.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + cmd.CommandPath() + " --help"
	switch {
	case cmd.Name() == "schema":
		hint = "give tables with --table " + wording.ShellWord(args[0])
	case cmd.Name() == "diff" && len(args) == 2:
		hint = fmt.Sprintf("give dates with --from %s --to %s", wording.ShellWord(args[0]), wording.ShellWord(args[1]))
	}
	return usagef("%s takes flags only, not %s; %s", cmd.Name(), quoted(args[0]), hint)
}

// interruptGrace is how long an interrupted command may take to shut down.
const interruptGrace = 1500 * time.Millisecond

// await returns the result of work. After ctx is done, it waits for at most interruptGrace and then returns the cause
// of the cancellation, because the process is about to end.
func await[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := work()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(interruptGrace)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var none T
		return none, context.Cause(ctx)
	}
}
