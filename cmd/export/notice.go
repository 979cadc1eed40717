package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"example.org/growthexport/internal/maintenance"
	"example.org/growthexport/internal/report"
	"example.org/growthexport/internal/sink"
	"example.org/growthexport/internal/snapshot"
	"example.org/growthexport/internal/wording"
)

// writeNotice writes the notice of a purge. If there was nothing left to do, it is of the earlier purge that did it.
func (a *app) writeNotice(ctx context.Context, o *purgeOptions, catalog snapshot.Catalog, done *maintenance.PurgeReport) error {
	if done.Nothing() {
		if done = done.Earlier; done == nil {
			return errors.New("nothing was purged, so there is no notice")
		}
	}
	n, err := noticeOf(ctx, catalog, done)
	if err != nil {
		return fmt.Errorf("write the notice: %w; the purge is complete; its proof is %s", err, maintenance.PurgePath(done.ID))
	}
	if o.noticeNames {
		n.Students = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.students, o.studentNumbers))))
	}
	var page bytes.Buffer
	if err := report.WriteNotice(&page, n); err != nil {
		return err
	}
	if err := replaceFile(o.notice, page.Bytes()); err != nil {
		return fmt.Errorf("write the notice: %w; the purge is complete; its proof is %s", err, maintenance.PurgePath(done.ID))
	}
	return nil
}

// replaceFile writes a file that only its owner may read, whole or not at all.
func replaceFile(path string, data []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".growth-export-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// noticeOf returns what a purge has done, without the names of students.
func noticeOf(ctx context.Context, catalog snapshot.Catalog, done *maintenance.PurgeReport) (*report.Notice, error) {
	proof := maintenance.PurgePath(done.ID)
	data, _, err := catalog.Read(ctx, proof)
	if err != nil {
		return nil, fmt.Errorf("read the proof: %w", err)
	}
	n := &report.Notice{
		Destination: absolute(catalog.String()), ToolVersion: done.ToolVersion, BegunAt: done.BegunAt, FinishedAt: done.FinishedAt,
		Schools: done.Asked.Schools, Districts: done.Asked.Districts, LedgerRows: done.LedgerRowsRemoved, DroppedRuns: done.DroppedRuns,
		NotReached: done.NotReached, Proof: proof, ProofSHA256: sink.Hash(data),
	}
	switch {
	case done.Asked.Students != nil:
		asked := done.Asked.Students
		n.Rule = wording.Many(asked.Listed, "student")
		n.Found = foundText(done)
		n.ListedStudents = asked.Listed
		if asked.Key == "" {
			n.Digest = asked.Digest
		}
		if asked.Matched != nil {
			n.MatchedStudents = *asked.Matched
		}
	case done.Asked.EndedFor != "":
		n.Rule = wording.Many(len(done.Asked.Schools), "school") + " denied or missing for at least " + done.Asked.EndedFor
	case len(done.Asked.Districts) > 0:
		n.Rule = wording.Many(len(done.Asked.Districts), "district") + ", with " + wording.Many(len(done.Schools), "school")
		n.Schools = done.Schools
	default:
		n.Rule = wording.Many(len(done.Asked.Schools), "school")
	}
	n.AddTables(done.RowsRemoved, func(t *report.NoticeTable) *int64 { return &t.Rows })
	n.AddTables(done.ExtraRemoved, func(t *report.NoticeTable) *int64 { return &t.Cleared })
	if done.History != nil {
		n.AddTables(done.History.RowsRemoved, func(t *report.NoticeTable) *int64 { return &t.HistoryRows })
		n.AddTables(done.History.ExtraRemoved, func(t *report.NoticeTable) *int64 { return &t.Cleared })
	}
	for i := range done.Runs {
		run := &done.Runs[i]
		line := report.NoticeRun{RunID: run.RunID, SnapshotDate: run.SnapshotDate, Kind: run.Kind, Files: len(run.Files)}
		for _, rows := range run.RowsRemoved {
			line.Rows += rows
		}
		n.Runs = append(n.Runs, line)
	}
	slices.SortStableFunc(n.Runs, report.NoticeRun.Compare)
	if v := done.Verification; v != nil {
		n.FilesRead, n.RowsRead, n.BytesRead = v.Files, v.Rows, v.Bytes
		for _, rows := range v.RowsMentioning {
			n.Mentioning += rows
		}
		if n.Mentioning > 0 {
			n.Mentions = mentionText(done)
		}
		n.Incomplete = done.Left() > 0
	}
	return n, nil
}
