package deltalake

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/schemas"
)

// table is a table as the manifests describe it.
type table struct {
	// folder is the folder of the table, without a trailing slash.
	folder     string
	declared   *schemas.Table
	partitions []partition
	// created is when the first snapshot of the table was published.
	created time.Time
	// files are the files that manifests name, by path relative to the folder.
	files map[string]wantedFile
}

// wantedFile is a file that a manifest names. There may be hundreds of thousands.
type wantedFile struct {
	size, rows int64
	published  time.Time
}

func newTable(folder string, declared *schemas.Table, partitions ...partition) *table {
	return &table{folder: folder, declared: declared, partitions: partitions, files: make(map[string]wantedFile)}
}

// The partition columns.
func bySnapshotDate() partition {
	return partition{"snapshot_date", schemas.Date, "Date of the snapshot."}
}

func byDistrict() partition {
	return partition{"district", schemas.String, "District of the school, as in schools.district_bid; a very long one is cut and ends in its hash."}
}

// tables returns all tables without their files, in the order of declaration.
func tables() []*table {
	var all []*table
	for _, declared := range schemas.Tables() {
		folder := strings.TrimSuffix(snapshot.DatePath(snapshot.Full, declared.Name, ""), "/snapshot_date="+nullPartition+"/")
		all = append(all, newTable(folder, declared, bySnapshotDate()))
	}
	return all
}

// readWanted fills in the tables from the manifests of the current snapshots.
func readWanted(ctx context.Context, catalog snapshot.Catalog, all []*table) error {
	var first, last *snapshot.Manifest
	err := catalog.CurrentRuns(ctx, snapshot.Full, func(m *snapshot.Manifest) {
		for _, t := range all {
			published, ok := m.Tables[t.declared.Name]
			if !ok {
				continue
			}
			for i := range published.Files {
				f := &published.Files[i]
				t.files[strings.TrimPrefix(f.Path, t.folder+"/")] = wantedFile{f.Bytes, f.Rows, m.PublishedAt}
			}
		}
		header := *m
		header.Tables = nil // so that it can be freed
		if first == nil || snapshot.ByPlan(&header, first) < 0 {
			first = &header
		}
		if last == nil || snapshot.ByPlan(&header, last) > 0 {
			last = &header
		}
	})
	if err != nil {
		return fmt.Errorf("read which files the tables have: %w", err)
	}
	for _, t := range all {
		if first != nil {
			t.created = first.PublishedAt
		}
		if last == nil {
			continue
		}
		_, dataset, _ := schemas.FindTable(t.declared.Name)
		byDistricts := cmp.Or(last.Parameters.PartitionBy, snapshot.NotPartitioned) == snapshot.ByDistrict
		if byDistricts && !dataset.IsLookup() {
			t.partitions = append(t.partitions, byDistrict())
		}
	}
	return nil
}

// group returns the first partition of a file, such as snapshot_date=2026-11-20. The files of a group belong together.
func group(path string) string {
	group, _, _ := strings.Cut(path, "/")
	return group
}
