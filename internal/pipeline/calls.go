package pipeline

import (
	"slices"
	"strings"
	"sync"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// dataset is a declared dataset with its decode plan: what every call of it
// needs.
type dataset struct {
	*schemas.Dataset
	plan   *transform.Plan
	spares *spares
}

func compile(declared *schemas.Dataset, spares *spares) (*dataset, error) {
	plan, err := transform.Compile(declared)
	if err != nil {
		return nil, err
	}
	return &dataset{Dataset: declared, plan: plan, spares: spares}, nil
}

// chain returns an empty chain for a call with these parameters.
func (d *dataset) chain(params transform.Params) *transform.Decoder {
	c := d.spares.get(d)
	if c == nil {
		c = d.plan.NewDecoder()
	}
	c.Reset(params)
	return c
}

// release takes back a chain whose rows are no longer needed.
func (d *dataset) release(c *transform.Decoder) {
	if c != nil {
		d.spares.put(d, c)
	}
}

// spareBytes is how much memory chains may keep, of all datasets together,
// while they wait to be used again.
const spareBytes = 32 << 20

// spares are the chains that wait to be used again, the one that has waited
// longest first. The zero value is ready.
type spares struct {
	mu     sync.Mutex
	chains []spare
	bytes  int
}

type spare struct {
	of    *dataset
	chain *transform.Decoder
	bytes int
}

func (s *spares) get(d *dataset) *transform.Decoder {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, found := range slices.Backward(s.chains) {
		if found.of == d {
			s.chains = slices.Delete(s.chains, i, i+1)
			s.bytes -= found.bytes
			return found.chain
		}
	}
	return nil
}

func (s *spares) put(d *dataset, c *transform.Decoder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := spare{of: d, chain: c, bytes: c.Bytes()}
	s.chains = append(s.chains, added)
	s.bytes += added.bytes
	for s.bytes > spareBytes {
		s.bytes -= s.chains[0].bytes
		s.chains = slices.Delete(s.chains, 0, 1)
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
		Lookup:    d.IsLookup(),
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
