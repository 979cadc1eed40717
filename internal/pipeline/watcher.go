package pipeline

import (
	"context"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
)

// The names of steps.
const (
	StepPlan    = "plan"    // the lookups and the plan
	StepFetch   = "fetch"   // everything from there to the last staged unit
	StepSchool  = "school"  // one school's dataset
	StepStage   = "stage"   // the files of a unit become durable
	StepPublish = "publish" // judging and publishing
)

// Watcher observes the steps of a run. It is called by many goroutines at a time and must be quick. A step ends after the
// steps that begin within it.
type Watcher interface {
	// Begin is called at the start of a step, which uses the returned context for all its work, including requests. end is
	// called once, when the step has ended.
	Begin(ctx context.Context, step Step) (_ context.Context, end func(End))
}

// Step is a part of a run.
type Step struct {
	Name  string
	RunID string // of plan, fetch and publish
	// Dataset is set for school and stage steps, School (a bid) for school steps, Bucket for stage steps (-1: lookups).
	Dataset, School string
	Bucket          int
}

// End is how a step ended.
type End struct {
	Err error
	// Ledger is what the ledger says of the school's dataset; nil for other
	// steps, and if there was an error.
	Ledger *snapshot.LedgerRow
	// Files are those that were staged, by table.
	Files map[string]sink.File
}

// begin reports the start of a step to the watcher, if there is one.
func (d *Deps) begin(ctx context.Context, step Step) (context.Context, func(End)) {
	if d.Watcher == nil {
		return ctx, unwatched
	}
	return d.Watcher.Begin(ctx, step)
}

func unwatched(End) {}

// phase does one of the phases of a run, and reports it to meter and watcher.
func (d *Deps) phase(ctx context.Context, name, run string, work func(ctx context.Context) error) error {
	d.Meter.enter(name)
	ctx, end := d.begin(ctx, Step{Name: name, RunID: run})
	err := work(ctx)
	end(End{Err: err})
	return err
}
