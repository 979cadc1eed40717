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
	plan *transform.Plan
	pool *pool
	// inMemory means that the rows hold identifiers which the profile of the run replaces. They only say what other calls
	// are made for, and never reach a scratch file.
	inMemory bool
}

func compile(declared *schemas.Dataset, s *Settings, pool *pool) (*dataset, error) {
	plan, err := transform.CompileFor(declared, s.Privacy, s.PrivacyKey)
	if err != nil {
		return nil, err
	}
	return &dataset{Dataset: declared, plan: plan, pool: pool}, nil
}

// feed returns the dataset as it is read to find out what other calls are made for, which needs the identifiers of the
// service.
func (d *dataset) feed(s *Settings) (*dataset, error) {
	if !s.Privacy.NeedsKey() {
		return d, nil
	}
	plan, err := transform.CompileFor(d.Dataset, s.Privacy, nil)
	if err != nil {
		return nil, err
	}
	return &dataset{Dataset: d.Dataset, plan: plan, pool: d.pool, inMemory: true}, nil
}

// newDecoder returns an empty decoder for a call with these parameters, reused if possible.
func (d *dataset) newDecoder(params transform.Params) *transform.Decoder {
	c := d.pool.get(d)
	if c == nil {
		c = d.plan.NewDecoder()
	}
	c.Reset(params)
	return c
}

// release takes back a decoder whose rows are no longer needed.
func (d *dataset) release(c *transform.Decoder) {
	if c != nil {
		d.pool.put(d, c)
	}
}

// maxPoolBytes bounds the memory of all decoders in a pool, and maxPooledBytes the memory of one: after a large school, a
// decoder holds more than most schools need.
const (
	maxPoolBytes   = 32 << 20
	maxPooledBytes = 4 << 20
)

// pool holds decoders for reuse, the one unused for longest first. The zero value is ready.
type pool struct {
	mu       sync.Mutex
	decoders []pooled
	bytes    int
}

type pooled struct {
	of      *dataset
	decoder *transform.Decoder
	bytes   int
}

func (p *pool) get(d *dataset) *transform.Decoder {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, found := range slices.Backward(p.decoders) {
		if found.of == d {
			p.decoders = slices.Delete(p.decoders, i, i+1)
			p.bytes -= found.bytes
			return found.decoder
		}
	}
	return nil
}

func (p *pool) put(d *dataset, c *transform.Decoder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	added := pooled{of: d, decoder: c, bytes: c.Bytes()}
	if added.bytes > maxPooledBytes {
		return
	}
	p.decoders = append(p.decoders, added)
	p.bytes += added.bytes
	for p.bytes > maxPoolBytes {
		p.bytes -= p.decoders[0].bytes
		p.decoders = slices.Delete(p.decoders, 0, 1)
	}
}

// call returns the request for the dataset's operation with these parameters.
// Filters are the optional parameters of this run. Those that the operation does
// not accept are left out. The date of a run that is not an as-of run is sent only
// to operations that would otherwise use the service's own date.
func (d *dataset) call(params transform.Params, filters map[string]string, asOf bool) extract.Call {
	op := &d.Operation
	call := extract.Call{
		Operation: d.Name,
		Template:  op.Path,
		Path:      make(map[string]string, len(params)),
		Query:     make([]extract.Param, 0, len(op.Query)+len(op.Filters)),
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
