package fetch

import (
	"slices"
	"strings"
	"sync"

	"example.org/growthexport/internal/extract"
	"example.org/growthexport/internal/transform"
	"example.org/growthexport/schemas"
)

// Dataset is a declared dataset with the plan for decoding it, which all of its calls share.
type Dataset struct {
	*schemas.Dataset
	plan *transform.Plan
	pool *pool
	// inMemory is true if the rows hold the service's own identifiers, which the run's privacy profile would replace. Such
	// rows only supply ids for other calls and are never written to a scratch file.
	inMemory bool
}

func compile(declared *schemas.Dataset, o *Options, pool *pool) (*Dataset, error) {
	plan, err := transform.CompileFor(declared, o.Privacy, o.PrivacyKey)
	if err != nil {
		return nil, err
	}
	return &Dataset{Dataset: declared, plan: plan, pool: pool}, nil
}

// feed returns the dataset for use as a source of ids for other calls. The rows of the returned dataset keep the
// service's own identifiers.
func (d *Dataset) feed(o *Options) (*Dataset, error) {
	if !o.Privacy.NeedsKey() {
		return d, nil
	}
	plan, err := transform.CompileFor(d.Dataset, o.Privacy, nil)
	if err != nil {
		return nil, err
	}
	return &Dataset{Dataset: d.Dataset, plan: plan, pool: d.pool, inMemory: true}, nil
}

// newDecoder returns an empty decoder for a call with these parameters, from the pool if possible.
func (d *Dataset) newDecoder(params transform.Params) *transform.Decoder {
	c := d.pool.get(d)
	if c == nil {
		c = d.plan.NewDecoder()
	}
	c.Reset(params)
	return c
}

// release returns a decoder whose rows are no longer needed to the pool.
func (d *Dataset) release(c *transform.Decoder) {
	if c != nil {
		d.pool.put(d, c)
	}
}

// pool holds decoders for reuse. The decoder that has been unused for the longest time comes first. The zero value is
// ready to use.
type pool struct {
	mu       sync.Mutex
	decoders []pooled
	bytes    int
}

type pooled struct {
	of      *Dataset
	decoder *transform.Decoder
	bytes   int
}

func (p *pool) get(d *Dataset) *transform.Decoder {
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

func (p *pool) put(d *Dataset, c *transform.Decoder) {
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

// call returns the request for the dataset's operation with these parameters. filters holds the optional parameters of
// this run. Parameters that the operation does not accept are left out. Unless asOf is true, the effective date is sent
// only to operations that would otherwise use the service's own date.
func (d *Dataset) call(params transform.Params, filters map[string]string, asOf bool) extract.Call {
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
		if value, ok := filters[name]; ok && (name != schemas.EffectiveDate || op.PinsDate || asOf) {
			call.Query = append(call.Query, extract.Param{Name: name, Value: value})
		}
	}
	return call
}
