package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.org/growthexport/internal/rows"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// Limits of the calls that a CallLog holds in memory: their number, the bytes of their rows, and the age of the oldest.
// Whenever calls are added, the log writes a file if it has reached one of the limits. Calls that are not yet in a file
// are lost if the process is killed.
const (
	maxLoggedCalls = 128
	maxLoggedBytes = 1 << 20
	maxLoggedAge   = 5 * time.Second
)

// CallLog saves the results of a fan-out task's calls in files, so that a run that is resumed after being killed need
// not repeat the calls. It holds windows of calls with their rows as they will be written: after the privacy profile
// has been applied, and without rows of students outside the cohort or on the suppression list. It is safe for
// concurrent use. A nil CallLog saves nothing.
//
// A file consists of a header, a frame (the lengths and the checksum of the two parts that follow), the windows in
// JSON, and their rows, one batch per table. A file that cannot be read is ignored, and its calls are made again.
type CallLog struct {
	dataset *Dataset
	write   func(ctx context.Context, data []byte)

	mu      sync.Mutex
	windows []loggedWindow // the windows that are not in a file yet
	tables  []*rows.Batch  // the rows of windows
	calls   int            // the number of calls in windows
	since   time.Time      // when the first window was added

	// logged holds the windows of earlier processes by the digest of their first call. It does not change after the first
	// call is made.
	logged map[digest][]loggedAt
}

// LogFile is an open file of a CallLog.
type LogFile interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// digest is the hash of one call of a task, or of several consecutive calls.
type digest string

// loggedWindow describes a window in a file.
type loggedWindow struct {
	Calls int    `json:"calls"`
	First digest `json:"first"` // the digest of the first call
	All   digest `json:"all"`   // the digest of all calls
	Rows  []int  `json:"rows"`  // the number of rows of each table
	// Pages, Records, Duplicates and Unavailable are counts of a LedgerRow. The fields after them are fields of a Result.
	Pages       int64            `json:"pages"`
	Records     int64            `json:"records"`
	Duplicates  int64            `json:"duplicates"`
	Unavailable int64            `json:"unavailable"`
	ChildRows   int64            `json:"child_rows"`
	Students    []int            `json:"students,omitempty"`
	Suppressed  []int            `json:"suppressed,omitempty"`
	Drift       []snapshot.Drift `json:"drift,omitempty"`
}

// loggedAt is the place of a window in a file.
type loggedAt struct {
	loggedWindow

	open  func() (LogFile, error)
	first []int // the window's first row in each table
}

const frameBytes = 12

var errNotLogged = errors.New("it is not a complete file of finished calls")

// NewCallLog returns an empty log, which passes the content of each of its files to write. It returns nil for a dataset
// that is not a fan-out.
func (f *Fetcher) NewCallLog(d *Dataset, write func(ctx context.Context, data []byte)) *CallLog {
	if d.IsLookup() || d.Per == schemas.PerSchool {
		return nil
	}
	return &CallLog{dataset: d, write: write, tables: newTables(d), logged: make(map[digest][]loggedAt)}
}

func newTables(d *Dataset) []*rows.Batch {
	tables := make([]*rows.Batch, len(d.Tables))
	for i, table := range d.Tables {
		tables[i] = rows.New(table)
	}
	return tables
}

// header returns the first line of every file. It contains the version of the schemas, which determines the columns of
// the rows.
func (l *CallLog) header() []byte {
	return fmt.Appendf(nil, "growth-export calls 1 %s %s\n", schemas.Version, l.dataset.Name)
}

// Load adds the windows in a file of an earlier process to the log, and returns the number of calls in these windows.
// It must be called before the first call is made.
func (l *CallLog) Load(open func() (LogFile, error)) (calls int, err error) {
	windows, _, err := l.readFile(open)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first := make([]int, len(l.tables))
	for _, w := range windows {
		if len(w.Rows) != len(first) {
			return calls, errNotLogged
		}
		at := loggedAt{loggedWindow: w, open: open, first: slices.Clone(first)}
		l.logged[w.First] = append(l.logged[w.First], at)
		calls += w.Calls
		for i, n := range w.Rows {
			first[i] += n
		}
	}
	return calls, nil
}

// readFile reads a file, and returns its windows and their encoded rows.
func (l *CallLog) readFile(open func() (LogFile, error)) (windows []loggedWindow, encoded []byte, err error) {
	file, err := open()
	if err != nil {
		return nil, nil, err
	}
	data := make([]byte, file.Size()) // usually little more than maxLoggedBytes
	n, err := file.ReadAt(data, 0)
	if closeErr := file.Close(); n < len(data) || closeErr != nil {
		return nil, nil, errors.Join(err, closeErr)
	}
	frame, found := bytes.CutPrefix(data, l.header())
	if !found || len(frame) < frameBytes {
		return nil, nil, errNotLogged
	}
	described, size := int64(binary.LittleEndian.Uint32(frame)), int64(binary.LittleEndian.Uint32(frame[4:]))
	body := frame[frameBytes:]
	if described+size != int64(len(body)) || crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(frame[8:]) {
		return nil, nil, errNotLogged
	}
	return windows, body[described:], json.Unmarshal(body[:described], &windows)
}

// restore adds the logged rows and counts of the first n calls to the result. n is 0 if no readable file of an earlier
// process has these calls.
func (l *CallLog) restore(ctx context.Context, calls []fanOutCall, r *Result) (n int) {
	if l == nil || len(l.logged) == 0 {
		return 0
	}
	for _, at := range l.logged[digestOf(calls[:1])] {
		if at.Calls > len(calls) || at.All != digestOf(calls[:at.Calls]) || ctx.Err() != nil {
			continue
		}
		if tables, err := l.read(&at); err == nil {
			r.addLogged(&at, tables)
			return at.Calls
		}
	}
	return 0
}

// read reads the tables of the file that holds a window.
func (l *CallLog) read(at *loggedAt) ([]*rows.Batch, error) {
	_, encoded, err := l.readFile(at.open)
	if err != nil {
		return nil, err
	}
	tables, from := newTables(l.dataset), bytes.NewReader(encoded)
	for i, b := range tables {
		if _, err := b.ReadFrom(from); err != nil {
			return nil, err
		}
		if b.N < at.first[i]+at.Rows[i] {
			return nil, errNotLogged
		}
	}
	return tables, nil
}

// addLogged adds the rows and counts of a logged window to the result. tables are the tables of the window's file.
func (r *Result) addLogged(at *loggedAt, tables []*rows.Batch) {
	for i, b := range r.lastTables(tables) {
		b.AppendRows(tables[i], at.first[i], at.first[i]+at.Rows[i])
	}
	window := Result{
		Ledger: snapshot.LedgerRow{
			Pages: at.Pages, RecordsReceived: at.Records, DuplicatesDropped: at.Duplicates, RowsWritten: int64(at.Rows[0]),
			RecordsUnavailable: at.Unavailable,
		},
		childRows: at.ChildRows, Students: at.Students, Suppressed: at.Suppressed,
	}
	for _, d := range at.Drift {
		window.Drift.Add(d)
	}
	r.addCounts(&window)
}

// add adds the rows and counts of calls that were just made to the log. The rows of these calls are the rows after from
// in the parts of window. add writes a file if one of the limits is reached.
func (l *CallLog) add(ctx context.Context, calls []fanOutCall, window *Result, from rowCounts) {
	if l == nil || !from.precede(window.parts) {
		return
	}
	counts := &window.Ledger
	w := loggedWindow{
		Calls: len(calls), First: digestOf(calls[:1]), All: digestOf(calls), Rows: make([]int, len(l.tables)),
		Pages: counts.Pages, Records: counts.RecordsReceived, Duplicates: counts.DuplicatesDropped, Unavailable: counts.RecordsUnavailable,
		ChildRows: window.childRows, Students: window.Students, Suppressed: window.Suppressed, Drift: window.Drift.List(),
	}
	l.mu.Lock()
	size := 0
	for i, b := range l.tables {
		if len(window.parts) > from.parts {
			made := window.parts[from.parts].tables[i]
			w.Rows[i] = made.N - from.rows[i]
			b.AppendRows(made, from.rows[i], made.N)
		}
		size += b.Size()
	}
	if l.calls == 0 {
		l.since = time.Now()
	}
	l.windows = append(l.windows, w)
	l.calls += len(calls)
	var data []byte
	if l.calls >= maxLoggedCalls || size >= maxLoggedBytes || time.Since(l.since) >= maxLoggedAge {
		data = l.encode()
	}
	l.mu.Unlock()
	if data != nil {
		l.write(ctx, data)
	}
}

// Flush writes the remaining calls to a file. It is called for a task that will not be staged.
func (l *CallLog) Flush(ctx context.Context) {
	if l == nil {
		return
	}
	l.mu.Lock()
	data := l.encode()
	l.mu.Unlock()
	if data != nil {
		l.write(ctx, data)
	}
}

// encode returns the content of a file with the windows that are not in a file yet, and drops these windows. It returns
// nil if there are no such windows, or if they cannot be encoded. The caller holds mu.
func (l *CallLog) encode() []byte {
	if len(l.windows) == 0 {
		return nil
	}
	var data bytes.Buffer
	data.Write(l.header())
	start := data.Len()
	data.Write(make([]byte, frameBytes))
	err := json.NewEncoder(&data).Encode(l.windows)
	described := data.Len() - start - frameBytes
	for _, b := range l.tables {
		_, writeErr := b.WriteTo(&data)
		err = errors.Join(err, writeErr)
		b.Reset()
	}
	l.windows, l.calls = l.windows[:0], 0
	frame := data.Bytes()[start:]
	body := frame[frameBytes:]
	if err != nil || len(body) > math.MaxInt32 {
		return nil
	}
	binary.LittleEndian.PutUint32(frame, uint32(described))
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(body)-described))
	binary.LittleEndian.PutUint32(frame[8:], crc32.ChecksumIEEE(body))
	return data.Bytes()
}

// rowCounts records where the rows of a window begin in the parts of a result, before these rows are added.
type rowCounts struct {
	parts int
	rows  []int // the number of rows of each table in that part; zeros if the window's rows begin a new part
}

func countRows(parts []part, tables int) rowCounts {
	c := rowCounts{parts: len(parts), rows: make([]int, tables)}
	if c.parts > 0 && parts[c.parts-1].tables != nil {
		c.parts--
		for i, b := range parts[c.parts].tables {
			c.rows[i] = b.N
		}
	}
	return c
}

// precede reports whether all rows that have been added since are in memory, in one part, directly after the counted
// rows. Rows that do not fit in memory are rare in fan-outs and are not logged.
func (c rowCounts) precede(parts []part) bool {
	return len(parts) == c.parts || len(parts) == c.parts+1 && parts[c.parts].tables != nil
}

// digestOf returns the digest of calls. It is computed only from values that are in the written rows, so it does not
// reveal identifiers that the privacy profile replaces.
func digestOf(calls []fanOutCall) digest {
	h := sha256.New()
	var text []byte
	for _, call := range calls {
		text = text[:0]
		for _, s := range [...]string{call.params["school_bid"], call.perspective, call.written} {
			text = append(strconv.AppendInt(text, int64(len(s)), 10), ':')
			text = append(text, s...)
		}
		h.Write(text)
	}
	return digest(hex.EncodeToString(h.Sum(nil)))
}
