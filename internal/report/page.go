package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"example.org/growthexport/internal/sink"
)

// How much of long lists stands on the page; the ledger and the manifest have all.
const (
	mostListed   = 100
	mostOpen     = 20 // of these, the rest is to be unfolded
	mostReasons  = 10
	mostConcerns = 5
	mostDrift    = 15
	mostError    = 400 // runes of an error
	mostField    = 80  // runes of a name
)

// State is how far a run is.
type State string

// The states of a run.
const (
	Published State = "published"
	Replaced  State = "replaced"
	Held      State = "held"
	// Staged: every step is done, and nothing was judged yet.
	Staged State = "staged"
	// Incomplete: there are steps left to do.
	Incomplete State = "incomplete"
)

// Page is what is known of a run.
type Page struct {
	State State
	// Manifest is the run's, or what it would be if the run were published as it stands.
	Manifest *sink.Manifest
	// Before is the manifest of the run to compare with; nil if there is none.
	Before *sink.Manifest
	// Destination is how commands name the place of the run.
	Destination string
	// Standing is the run that has the date, if it is not this one.
	Standing string
	// Held says why the run was held back.
	Held sink.Held
	// Failure is the error with which the command ended that worked on the run; empty if with none.
	Failure string
	// Units are the steps of the run, and Missing those that are not staged.
	Units   int
	Missing []string
	// Filters are the parameters that the plan pinned.
	Filters map[string]string
	// Names are the names of schools by their bids, as far as they have one.
	Names map[string]string
	// Ledger is what the ledger says, added up.
	Ledger Ledger
}

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// Write writes the page. That it cannot be drawn is an error in any case: the library that plots panics at what it cannot plot,
// and a page is not worth the end of a run.
func Write(w io.Writer, page *Page) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("draw the report: %v", fault)
		}
	}()
	v, err := newView(page)
	if err != nil {
		return err
	}
	text, err := template.New("page").Funcs(functions()).Parse(pageText)
	if err != nil {
		return fmt.Errorf("read the template of the report: %w", err)
	}
	var b bytes.Buffer
	if err := text.Execute(&b, v); err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
