package pipeline

import (
	"strings"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// dataset is a declared dataset with its decode plan: what every call of it
// needs.
type dataset struct {
	*schemas.Dataset
	plan  *transform.Plan
	spare chan *transform.Chain
}

// spareChainBytes is the most memory that a chain may keep while it waits to
// be used again: one that held an unusually large school is let go instead.
const spareChainBytes = 8 << 20

func compile(declared *schemas.Dataset, spare int) (*dataset, error) {
	plan, err := transform.Compile(declared)
	if err != nil {
		return nil, err
	}
	return &dataset{Dataset: declared, plan: plan, spare: make(chan *transform.Chain, spare)}, nil
}

// chain returns an empty chain for a call with these parameters.
func (d *dataset) chain(params transform.Params) *transform.Chain {
	var c *transform.Chain
	select {
	case c = <-d.spare:
	default:
		c = d.plan.NewChain()
	}
	c.Reset(params)
	return c
}

// release takes a chain back whose rows nobody needs any more.
func (d *dataset) release(c *transform.Chain) {
	if c == nil || c.Bytes() > spareChainBytes {
		return
	}
	select {
	case d.spare <- c:
	default:
	}
}

// call makes the dataset's operation with these parameters a request. Filters
// are the optional parameters of this run; what the operation does not accept
// is never sent to it, and the day of the run only to those that would take
// the service's own day otherwise, unless it is the date of an as-of run.
func (d *dataset) call(params transform.Params, filters map[string]string, asOf bool) extract.Call {
	op := &d.Operation
	call := extract.Call{
		Operation: d.Name,
		Template:  op.Path,
		Path:      make(map[string]string),
		School:    params["school_bid"],
		District:  params["district_bid"],
		Lookup:    isLookup(d.Dataset),
	}
	for name, value := range params {
		if strings.Contains(op.Path, "{"+name+"}") {
			call.Path[name] = value
		}
	}
	for _, name := range op.Query {
		value := params[strings.ReplaceAll(name, "-", "_")]
		call.Query = append(call.Query, extract.Param{Name: name, Value: value})
	}
	for _, name := range op.Filters {
		if value, ok := filters[name]; ok && (name != effectiveDate || op.PinsDate || asOf) {
			call.Query = append(call.Query, extract.Param{Name: name, Value: value})
		}
	}
	return call
}

// isLookup tells whether a dataset is fetched before any school, into the
// lookup bucket.
func isLookup(d *schemas.Dataset) bool {
	return d.Per == schemas.Once || d.Per == schemas.PerDistrict
}
