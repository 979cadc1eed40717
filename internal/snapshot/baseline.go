package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/growthexport/internal/sink"
)

// Baseline identifies the previous snapshot of a full run: the newest published one of an earlier date, from the same
// service and with the same settings apart from the datasets. It is found when the run is planned, and pinned in the
// plan, so that limits, comparison, summary and report refer to the same rows.
type Baseline struct {
	RunID        string `json:"run_id"`
	SnapshotDate string `json:"snapshot_date"`
	// ManifestSHA256 is the hash of the manifest. The hash changes when the snapshot is replaced or purged.
	ManifestSHA256 string `json:"manifest_sha256"`
	// SchoolsGone and DistrictsGone list the schools and districts of the baseline that are not in the run. They are empty
	// if the baseline's plan cannot be read.
	SchoolsGone   []string `json:"schools_gone,omitempty"`
	DistrictsGone []string `json:"districts_gone,omitempty"`
	// Names are the names of these schools and districts in the baseline's plan, by bid.
	Names map[string]string `json:"names,omitempty"`
}

// SchoolsLost counts the schools that had rows of a dataset in the baseline (Had), and how many of them have none now
// (Lost).
type SchoolsLost struct{ Had, Lost int64 }

// Two of the reasons why a run is not compared with another snapshot.
const (
	NoEarlierSnapshot = "there is no earlier full snapshot"
	NotToCompare      = "the comparison is turned off"
)

// PinBaseline finds the baseline of a full run and records it in the plan, or the reason why there is none. Damaged
// snapshots that are newer than the baseline are skipped, and skipped is called with the paths of their pointers. For
// other kinds of runs, PinBaseline does nothing.
func (c Catalog) PinBaseline(ctx context.Context, plan *Plan, skipped func(pointer string)) error {
	if plan.Kind != Full {
		return nil
	}
	plan.NoBaseline = NoEarlierSnapshot
	before, err := c.newestBefore(ctx, Full, plan.SnapshotDate, func(m *Manifest) bool {
		differences := m.differencesApartFromDatasets(plan.BaseURL, plan.Scope)
		if len(differences) > 0 && plan.NoBaseline == NoEarlierSnapshot {
			plan.NoBaseline = fmt.Sprintf("the snapshot of %s has other settings: %s", m.SnapshotDate, strings.Join(differences, ", "))
		}
		return len(differences) == 0
	}, func(pointer string) bool {
		skipped(pointer)
		return true
	})
	if before == nil || err != nil {
		return err
	}
	data, _, err := c.Read(ctx, ManifestPath(before.RunID))
	if errors.Is(err, sink.ErrNotFound) {
		return nil // another process has just pruned it
	}
	if err != nil {
		return err
	}
	baseline := &Baseline{RunID: before.RunID, SnapshotDate: before.SnapshotDate, ManifestSHA256: sink.Hash(data)}
	plan.Baseline, plan.NoBaseline = baseline, ""
	earlier, err := c.ReadPlan(ctx, before.RunID)
	if err != nil {
		if Unreadable(err) {
			err = nil // history.OpenBaseline reports it
		}
		return err
	}
	schools, districts := plan.listed()
	baseline.Names = make(map[string]string)
	for i := range earlier.Schools {
		if school := &earlier.Schools[i]; !schools[school.Bid] {
			baseline.SchoolsGone = append(baseline.SchoolsGone, school.Bid)
			baseline.Names[school.Bid] = school.Name
		}
	}
	_, then := earlier.listed()
	for _, bid := range slices.Sorted(maps.Keys(then)) {
		if bid != "" && !districts[bid] {
			baseline.DistrictsGone = append(baseline.DistrictsGone, bid)
			baseline.Names[bid] = earlier.DistrictNames[bid]
		}
	}
	return nil
}

// listed returns the bids of the plan's schools and of their districts. The district of a school without one is an
// empty string.
func (p *Plan) listed() (schools, districts map[string]bool) {
	schools, districts = make(map[string]bool, len(p.Schools)), make(map[string]bool)
	for i := range p.Schools {
		schools[p.Schools[i].Bid], districts[p.Schools[i].District] = true, true
	}
	return schools, districts
}

// countLost counts, by dataset, the schools that had rows in the baseline and how many of them have none now, and finds
// newly denied schools. It compares the two ledgers, which are in the same order.
func (g *StagedRun) countLost(ctx context.Context, c Catalog) error {
	g.Lost, g.NewlyDenied = make(map[string]SchoolsLost), nil
	next := 0
	return c.ReadLedger(ctx, g.Baseline.RunID, func(row *LedgerRow) {
		if _, both := g.Datasets[row.Dataset]; !both || row.SchoolBid == "" || row.Status != StatusOK {
			return
		}
		for next < len(g.Ledger) && compareLedger(g.Ledger[next], *row) < 0 {
			next++
		}
		var now LedgerRow
		if next < len(g.Ledger) && compareLedger(g.Ledger[next], *row) == 0 {
			now = g.Ledger[next]
		}
		if now.Status == StatusDenied {
			g.NewlyDenied = append(g.NewlyDenied, *row)
		}
		if row.RowsWritten == 0 {
			return
		}
		counts := g.Lost[row.Dataset]
		counts.Had++
		if now.RowsWritten == 0 {
			counts.Lost++
		}
		g.Lost[row.Dataset] = counts
	})
}

// Previous returns the previous snapshot of a published full run, or nil if there is none. This is the baseline in the
// run's plan if the baseline is still published, and otherwise the snapshot that would be chosen as the baseline now. A
// damaged document of a snapshot that may be the previous one is an error.
func (c Catalog) Previous(ctx context.Context, run *Manifest) (*Manifest, error) {
	if run.Kind != Full {
		return nil, nil
	}
	plan, err := c.ReadPlan(ctx, run.RunID)
	if err == nil && plan.Baseline != nil {
		var pinned *Manifest
		if pinned, err = c.ReadManifest(ctx, plan.Baseline.RunID); err == nil && pinned.Status == Published {
			return pinned, nil
		}
	}
	if err != nil && !Unreadable(err) {
		return nil, err
	}
	return c.newestBefore(ctx, Full, run.SnapshotDate, func(m *Manifest) bool {
		return len(m.differencesApartFromDatasets(run.BaseURL, run.Parameters.Scope)) == 0
	}, func(string) bool { return false })
}

// errBaselineChanged reports that the baseline of a run is no longer the one pinned in the run's plan.
var errBaselineChanged = errors.New("it was replaced, purged or pruned after this run had begun")

// ReadBaseline returns the manifest of a baseline. It returns errBaselineChanged if the manifest is missing or has
// changed since the baseline was pinned.
func (c Catalog) ReadBaseline(ctx context.Context, baseline *Baseline) (*Manifest, error) {
	path := ManifestPath(baseline.RunID)
	data, _, err := c.Read(ctx, path)
	if errors.Is(err, sink.ErrNotFound) || err == nil && sink.Hash(data) != baseline.ManifestSHA256 {
		return nil, fmt.Errorf("read %s: %w", path, errBaselineChanged)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	manifest := new(Manifest)
	return manifest, DecodeDocument(path, data, manifest)
}
