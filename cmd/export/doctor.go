package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.org/growthexport/internal/doctor"
	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// doctorOptions holds the settings of doctor: the settings of run that concern the service and the destination.
type doctorOptions struct {
	general
	destination
	service
	simulation
	partitionBy string
	privacy     string
}

const (
	// doctorRetries and doctorGiveUpAfter are the defaults of --retries and --give-up-after. They are low because the user
	// waits for the findings.
	doctorRetries     = "2"
	doctorGiveUpAfter = "30s"
	// doctorAttempts is the maximum number of attempts for each request that doctor sends to a store.
	doctorAttempts = 3
)

func (a *app) doctorCommand() *cobra.Command {
	o := &doctorOptions{}
	cmd := newCommand(a, o, a.checkAll, "base-url simulate dest config", &cobra.Command{
		Use:   "doctor",
		Short: "Checks service, credentials and destination, and prints fixes",
		Long: "Checks, in order, everything that a run needs from the service and the destination, and prints one line per check," +
			" with advice on what to fix. It reads the school list and one page of one school, which it discards, and leaves" +
			" nothing at the destination. The exit code is 0 or, if a check fails, usually the one that a run would end with.",
		Example: "  growth-export doctor --simulate\n" +
			"  growth-export doctor --base-url https://host --dest s3://bucket/prefix",
	})
	o.service.define(cmd)
	for name, value := range map[string]string{"retries": doctorRetries, "give-up-after": doctorGiveUpAfter} {
		flag := cmd.Flags().Lookup(name)
		flag.DefValue = value
		_ = flag.Value.Set(value) // a valid value
	}
	g := o.destination.define(cmd)
	o.defineWriting(g)
	definePartitionBy(g, &o.partitionBy)
	definePrivacy(g, &o.privacy)
	o.simulation.define(cmd)
	o.general.define(cmd)
	return cmd
}

// checkAll performs all checks and prints their findings. If any check failed, it returns the failure that decides the
// exit code.
func (a *app) checkAll(ctx context.Context, o *doctorOptions, from sources) error {
	logger := a.newLogger(&o.general)
	findings, err := await(ctx, func() ([]doctor.Finding, error) {
		findings, err := a.checkService(ctx, o, from, logger)
		if err != nil {
			return nil, err
		}
		findings = append(findings, a.checkDestination(ctx, o, from)...)
		return append(findings, doctor.Finding{Check: "FIPS 140-3", State: doctor.OK, Text: thisBuild().FIPS.String()}), ctx.Err()
	})
	if err != nil {
		return err
	}
	failure := firstFailure(findings)
	err = a.writeOutput(o.output, struct {
		Checks []doctor.Finding `json:"checks"`
	}{findings}, findingsText(findings))
	if failure != nil {
		return failure
	}
	return err
}

// checkService returns the findings about the service. The error is non-nil only if the context ends or the simulated
// service does not start.
func (a *app) checkService(ctx context.Context, o *doctorOptions, from sources, logger *slog.Logger) ([]doctor.Finding, error) {
	simulated, err := o.chooseService(from)
	s := doctor.Service{
		Err: err, BaseURL: o.baseURL, Simulated: simulated, Credentials: simulatedCredentials(), Timeout: o.requestTimeout, Now: a.now,
	}
	switch {
	case err != nil:
	case simulated:
		var stop func()
		if s.BaseURL, stop, err = o.embed(context.WithoutCancel(ctx), a.now()); err != nil {
			return nil, err
		}
		defer stop()
	default:
		s.Credentials, s.CredentialsErr = a.credentials()
	}
	s.NewClient = func() (*extract.Client, error) {
		client, err := extract.New(o.clientOptions(s.BaseURL, s.Credentials, logger))
		if err != nil {
			return nil, usagef("%w", err)
		}
		return client, nil
	}
	return doctor.CheckService(ctx, s)
}

func (a *app) checkDestination(ctx context.Context, o *doctorOptions, from sources) []doctor.Finding {
	d := doctor.Destination{
		Scratch: cmp.Or(o.scratch, os.TempDir()), SSE: o.s3.SSE,
		Service: o.serviceName(from), PartitionBy: o.partitionBy, Privacy: schemas.Profile(o.privacy), Now: a.now,
	}
	o.s3.Attempts, o.gcs.Attempts, o.azure.Attempts = doctorAttempts, doctorAttempts, doctorAttempts
	o.log = slog.New(slog.DiscardHandler) // the store's warnings become findings
	key, err := a.keyOf(d.Privacy)
	if d.KeyErr = err; key != nil {
		d.Fingerprint, d.KeyFile = key.Fingerprint(), a.readableKeyFile()
	}
	catalog, err := a.newCatalog(ctx, &o.destination, from)
	d.Store = catalog.Store()
	if err == nil {
		err = o.checkOwner(catalog, from)
	}
	if err == nil {
		err = checkWritable(ctx, catalog, from)
	}
	if err == nil {
		err = checkFormat(ctx, catalog, from)
	}
	d.Err = err
	if ctx.Err() != nil {
		return nil
	}
	findings := doctor.CheckDestination(ctx, d)
	for i := range findings {
		if refused, ok := errors.AsType[*snapshot.RefusedError](findings[i].Err); ok {
			findings[i].Err = usagef("%w", refused)
		}
	}
	return findings
}

// firstFailure returns an error with the first check that failed, and the cause that decides the exit code. It returns
// nil if no check failed.
func firstFailure(findings []doctor.Finding) error {
	first := ""
	var worst error
	for _, f := range findings {
		if f.Err == nil {
			continue
		}
		first = cmp.Or(first, f.Check)
		if worst == nil || worse(exitCode(f.Err), exitCode(worst)) != exitCode(worst) {
			worst = f.Err
		}
	}
	if worst == nil {
		return nil
	}
	return failedChecks{text: fmt.Sprintf("%d of %d checks failed; first: %s", count(findings, doctor.Fail), len(findings), first), cause: worst}
}

func count(findings []doctor.Finding, state doctor.State) int {
	n := 0
	for i := range findings {
		if findings[i].State == state {
			n++
		}
	}
	return n
}

// findingsText returns one line for each finding and, if no check failed, a conclusion.
func findingsText(findings []doctor.Finding) string {
	width := 0
	for i := range findings {
		width = max(width, len(findings[i].Check))
	}
	var b strings.Builder
	for _, f := range findings {
		state := string(f.State)
		if f.State == doctor.Fail {
			state = strings.ToUpper(state)
		}
		text := printable(f.Text)
		if f.Advice != "" {
			text = strings.TrimSuffix(text, ".") + ": " + f.Advice
		}
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", state, width, f.Check, text)
	}
	switch warned := count(findings, doctor.Warn); {
	case count(findings, doctor.Fail) > 0: // the error contains the number of failed checks
	case warned > 0:
		fmt.Fprintf(&b, "\nA run would work, but %d of %d checks gave a warning.\n", warned, len(findings))
	default:
		b.WriteString("\nAll checks passed.\n")
	}
	return b.String()
}
