package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// doctorOptions are the settings of doctor: those of the runs that it is for,
// as far as the service and the destination know them.
type doctorOptions struct {
	general
	destination
	service
	simulation
	partitionBy string
}

// doctorRetries is how often doctor repeats what failed, unless it is told:
// whoever asks what is wrong waits for the answer.
const doctorRetries = "2"

func (a *app) doctorCommand() *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:         "doctor",
		Annotations: map[string]string{oftenAnnotation: "base-url simulate dest config"},
		Short:       "Checks service, credentials and destination, and says what to do",
		Long: "Checks in order all that a run needs of the service and of the destination, a line\n" +
			"each, and says what to do. It reads the school list and one page of one school,\n" +
			"which it throws away, and leaves nothing at the destination. The exit code is 0,\n" +
			"or that with which a run would end.",
		Args: noArguments,
		Example: "  growth-export doctor --simulate\n" +
			"  growth-export doctor --base-url https://host --dest s3://bucket/prefix",
		RunE: resolved(a, o, a.doctor),
	}
	o.service.define(cmd)
	retries := cmd.Flags().Lookup("retries")
	retries.DefValue = doctorRetries
	_ = retries.Value.Set(doctorRetries) // a number that the flag takes
	g := o.destination.define(cmd)
	o.defineWriting(g)
	definePartitionBy(g, &o.partitionBy)
	o.simulation.define(cmd)
	o.general.define(cmd)
	return cmd
}

// The outcomes of a check.
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
	checkSkip = "skip" // it needs what another check found to be missing
)

// check is what became of one check: a line of the doctor's.
type check struct {
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Finding string `json:"finding"`
	Advice  string `json:"advice,omitempty"`

	err error // of one that failed: its exit code is a run's
}

// checkup is the list of all checks, in their order.
type checkup struct{ checks []check }

func (u *checkup) add(c check) { u.checks = append(u.checks, c) }

func (u *checkup) ok(name, format string, args ...any) {
	u.add(check{Check: name, Outcome: checkOK, Finding: fmt.Sprintf(format, args...)})
}

func (u *checkup) warn(name, finding, advice string) {
	u.add(check{Check: name, Outcome: checkWarn, Finding: finding, Advice: advice})
}

// fail notes a check that failed; the error says itself what to do, else advice
// does.
func (u *checkup) fail(name string, err error, advice string) {
	u.add(check{Check: name, Outcome: checkFail, Finding: oneLine(err), Advice: advice, err: err})
}

func (u *checkup) skip(why string, names ...string) {
	for _, name := range names {
		u.add(check{Check: name, Outcome: checkSkip, Finding: why})
	}
}

// count is how many checks had that outcome.
func (u *checkup) count(outcome string) int {
	n := 0
	for i := range u.checks {
		if u.checks[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// verdict is nil if no check failed, else the error by which a run would end.
func (u *checkup) verdict() error {
	var first *check
	for i := range u.checks {
		c := &u.checks[i]
		if c.err != nil && (first == nil || worse(exitCode(c.err), exitCode(first.err)) != exitCode(first.err)) {
			first = c
		}
	}
	if first == nil {
		return nil
	}
	return failedChecks{
		text: fmt.Sprintf("%d of %d checks failed; first: %s", u.count(checkFail), len(u.checks), first.Check), cause: first.err,
	}
}

// failedChecks ends a checkup with the exit code of what failed. The output of
// each check says what that was.
type failedChecks struct {
	text  string
	cause error
}

func (e failedChecks) Error() string { return e.text }

func (e failedChecks) Unwrap() error { return e.cause }

// doctor makes all checks and writes what they found.
func (a *app) doctor(ctx context.Context, o *doctorOptions, from sources) error {
	logger := a.newLogger(&o.general)
	examined, err := await(ctx, func() (*checkup, error) {
		u := &checkup{}
		if err := a.examineService(ctx, u, o, from, logger); err != nil {
			return nil, err
		}
		a.examineDestination(ctx, u, o, from)
		return u, ctx.Err()
	})
	if err != nil {
		return err
	}
	verdict := examined.verdict()
	var unwritten error
	if o.output == outputJSON {
		unwritten = writeJSON(a.stdout, struct {
			Checks   []check `json:"checks"`
			ExitCode int     `json:"exit_code"`
		}{examined.checks, exitCode(verdict)})
	} else {
		unwritten = writeCheckup(a.stdout, examined)
	}
	if verdict != nil {
		return verdict
	}
	return unwritten
}

// writeCheckup writes the checks for people.
func writeCheckup(w io.Writer, u *checkup) error {
	width := 0
	for i := range u.checks {
		width = max(width, len(u.checks[i].Check))
	}
	var b strings.Builder
	for i := range u.checks {
		c := &u.checks[i]
		outcome := c.Outcome
		if outcome == checkFail {
			outcome = strings.ToUpper(outcome) // to be seen at a glance
		}
		finding := printable(c.Finding)
		if c.Advice != "" {
			finding = strings.TrimSuffix(finding, ".") + ": " + c.Advice
		}
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", outcome, width, c.Check, finding)
	}
	switch failed, warned := u.count(checkFail), u.count(checkWarn); {
	case failed > 0: // the error says so
	case warned > 0:
		fmt.Fprintf(&b, "\nA run would work; %d of %d checks warn.\n", warned, len(u.checks))
	default:
		b.WriteString("\nAll is well.\n")
	}
	return writeText(w, b.String())
}
