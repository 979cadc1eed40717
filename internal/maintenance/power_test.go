package maintenance_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/snapshot/snapshottest"
)

// journaled is a change of a file system, or a sync.
type journaled struct {
	call     string // create, mkdir, write, rename, link, remove, remove all, sync
	name, to string
	data     []byte
}

// recorder records the changes of a destination.
type recorder struct {
	mu    sync.Mutex
	calls []journaled
}

func (r *recorder) open(t *testing.T, root string) *sink.Dir {
	t.Helper()
	return snapshottest.NewDirOn(t, root, func(inner sink.FileSystem) sink.FileSystem {
		return snapshottest.Tap{
			FileSystem: inner,
			Before:     func(string, string) error { return nil },
			After: func(call, name, to string, data []byte) {
				switch call {
				case "create", "mkdir", "write", "rename", "link", "remove", "remove all", "sync":
					r.mu.Lock()
					defer r.mu.Unlock()
					r.calls = append(r.calls, journaled{call: call, name: name, to: to, data: append([]byte(nil), data...)})
				}
			},
		}
	})
}

// inode is a file and how many of its bytes were synced.
type inode struct {
	data   []byte
	synced int
}

// change is a change of a folder's entries.
type change struct {
	put     bool
	name    string // of the entry that is added or removed
	gone    string // the entry that a rename removes in the same step
	file    *inode // nil: a folder
	durable bool
}

// disk is a file system that loses power. The changes of a folder's entries keep their order, and are durable once the
// folder is synced. Bytes are durable once their file is synced. A rename is a single change of the folder to which the
// file is moved.
type disk struct {
	start   map[string][]byte // nil: a folder
	changes []*change
}

// after returns the disk after the given calls.
func after(start map[string][]byte, calls []journaled) *disk {
	d := &disk{start: start}
	live := make(map[string]*inode)
	for name, data := range start {
		if data != nil {
			live[name] = &inode{data: data, synced: len(data)}
		} else {
			live[name] = nil
		}
	}
	for _, c := range calls {
		switch c.call {
		case "create":
			live[c.name] = &inode{}
			d.changes = append(d.changes, &change{put: true, name: c.name, file: live[c.name]})
		case "mkdir":
			live[c.name] = nil
			d.changes = append(d.changes, &change{put: true, name: c.name})
		case "write":
			if f := live[c.name]; f != nil {
				f.data = append(slices.Clip(f.data), c.data...)
			}
		case "rename":
			live[c.to] = live[c.name]
			delete(live, c.name)
			d.changes = append(d.changes, &change{put: true, name: c.to, gone: c.name, file: live[c.to]})
		case "link":
			live[c.to] = live[c.name]
			d.changes = append(d.changes, &change{put: true, name: c.to, file: live[c.to]})
		case "remove", "remove all":
			for name := range live {
				if name == c.name || strings.HasPrefix(name, c.name+"/") {
					delete(live, name)
				}
			}
			d.changes = append(d.changes, &change{name: c.name})
		case "sync":
			if f := live[c.name]; f != nil {
				f.synced = len(f.data)
				continue
			}
			for _, made := range d.changes {
				if path.Dir(made.name) == c.name {
					made.durable = true
				}
			}
		}
	}
	return d
}

// cut returns the content of the disk when the power is back: everything durable and a random part of the rest, or none
// of the rest if keep is nil. No file is moved into a folder that is lost.
func (d *disk) cut(keep *rand.Rand) map[string][]byte {
	found := make(map[string]*inode)
	for name, data := range d.start {
		if data == nil {
			found[name] = nil
		} else {
			found[name] = &inode{data: data, synced: len(data)}
		}
	}
	for _, c := range d.changes {
		_, inFolder := found[path.Dir(c.name)]
		inFolder = inFolder || path.Dir(c.name) == "."
		if !c.durable && (keep == nil || keep.IntN(2) == 0 || !inFolder) {
			continue
		}
		if c.gone != "" {
			delete(found, c.gone)
		}
		if c.put {
			found[c.name] = c.file
			continue
		}
		for name := range found {
			if name == c.name || strings.HasPrefix(name, c.name+"/") {
				delete(found, name)
			}
		}
	}
	left := make(map[string][]byte)
	for name, file := range found {
		whole := true
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			folder, there := found[above]
			whole = whole && there && folder == nil
		}
		switch {
		case !whole: // The folder was lost, and all that is in it.
		case file == nil:
			left[name] = nil
		default:
			size := file.synced
			if keep != nil {
				size += keep.IntN(len(file.data) - size + 1)
			}
			left[name] = append([]byte{}, file.data[:size]...)
		}
	}
	return left
}

// restore creates a destination with these files and folders.
func restore(t *testing.T, found map[string][]byte) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "replayed")
	require.NoError(t, os.Mkdir(root, 0o700))
	for name, data := range found {
		at := filepath.Join(root, filepath.FromSlash(name))
		if data == nil {
			require.NoError(t, os.MkdirAll(at, 0o700))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, data, 0o600))
	}
	return root
}

// contents returns everything below a folder, in the form of disk.start.
func contents(t *testing.T, root string) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	for _, name := range snapshottest.Below(t, root) {
		relative, err := filepath.Rel(root, name)
		require.NoError(t, err)
		if relative == "." {
			continue
		}
		info, err := os.Stat(name)
		require.NoError(t, err)
		if info.IsDir() {
			all[filepath.ToSlash(relative)] = nil
			continue
		}
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		all[filepath.ToSlash(relative)] = append([]byte{}, data...)
	}
	return all
}

// TestPowerLoss cuts the power at several points of a run and of a purge. All changes that were not synced are lost, or
// a random part of them. Each snapshot with a pointer is still complete, including the previous day's, and runs
// published before the cut are still published. Running the same commands again has exactly the same result.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	first := yesterday(t)
	start := contents(t, first)
	root := snapshottest.CopyTree(t, first)
	recorded := new(recorder)
	var ends []int // the number of calls made until each command returned
	for _, do := range commands() {
		require.NoError(t, do(t.Context(), recorded.open(t, root)))
		ends = append(ends, len(recorded.calls))
	}
	want := settled(t, root)
	calls := recorded.calls
	t.Logf("%d calls, commands end at %v", len(calls), ends)

	const chunks = 4
	for chunk := range chunks {
		t.Run(strconv.Itoa(chunk), func(t *testing.T) {
			t.Parallel()
			for n := chunk; n <= len(calls); n += chunks {
				at := after(start, calls[:n])
				// If everything else is lost, only a sync changes the result.
				if n == ends[0] || n == ends[1] || (n > 0 && calls[n-1].call == "sync" && (n/chunks)%sampled(3) == 0) {
					requireSurvived(t, restore(t, at.cut(nil)), want, n, ends, "all that was not synced is lost")
				}
				if (n/chunks)%sampled(12) == 0 {
					chance := rand.New(rand.NewPCG(uint64(n), 1))
					requireSurvived(t, restore(t, at.cut(chance)), want, n, ends, "some that was not synced is lost")
				}
			}
		})
	}
}

func requireSurvived(t *testing.T, root string, want map[string]string, n int, ends []int, how string) {
	t.Helper()
	when := fmt.Sprintf("power lost after call %d, %s", n, how)
	requireSoundPointers(t, root, when)
	store := snapshottest.NewDir(t, root)
	expected := []string{snapshottest.EarlierRun}
	if n >= ends[0] {
		expected = append(expected, snapshottest.LatestRun)
	}
	for _, run := range expected {
		m, err := snapshot.At(store).ReadManifest(t.Context(), run)
		require.NoError(t, err, when)
		pointer, _, err := snapshot.ReadDocument[snapshot.Pointer](t.Context(), store, snapshot.PointerPath(m.Kind, m.SnapshotDate))
		require.NoError(t, err, when)
		require.Equal(t, run, pointer.RunID, when)
	}
	if n >= ends[1] {
		for name := range settled(t, root) {
			require.True(t, strings.HasPrefix(name, "_") || want[name] != "", "%s: %s is not purged", when, name)
			require.False(t, strings.HasPrefix(name, "_staging/"), "%s: %s is not purged", when, name)
		}
	}
	for _, do := range commands() {
		require.NoError(t, do(t.Context(), snapshottest.NewDir(t, root)), when)
	}
	got := settled(t, root)
	require.ElementsMatch(t, snapshottest.Names(want), snapshottest.Names(got), when)
	require.Equal(t, want, got, when)
	require.NoError(t, os.RemoveAll(root))
}
