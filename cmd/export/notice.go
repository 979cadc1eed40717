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

// writeNotice writes the notice of a purge to a file. If the purge found nothing left to erase, the notice is about the
// earlier purge that erased the rows, which must exist.
func (a *app) writeNotice(ctx context.Context, path string, students []string, catalog snapshot.Catalog, done *maintenance.PurgeReport) error {
	done = erasing(done)
	n, err := noticeOf(ctx, catalog, done)
	if err != nil {
		return fmt.Errorf("write the notice: %w; the purge is complete; its proof is %s", err, maintenance.PurgePath(done.ID))
	}
	n.Students = slices.Compact(slices.Sorted(slices.Values(students)))
	var page bytes.Buffer
	if err := report.WriteNotice(&page, n); err != nil {
		return err
	}
	if err := replaceFile(path, page.Bytes()); err != nil {
		return fmt.Errorf("write the notice: %w; the purge is complete; its proof is %s", err, maintenance.PurgePath(done.ID))
	}
	return nil
}

// replaceFile writes or replaces a file, which only its owner can read. On failure, no new file is left and an existing
// file is unchanged.
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

// headlineOf returns the headline of a notice about schools or districts whose rows were erased. If some were not
// found, the headline also says how many were listed.
func headlineOf(found, listed []string, kind string) string {
	if len(found) < len(listed) {
		return fmt.Sprintf("all rows of %s of %s", wording.Count(len(found)), wording.Many(len(listed), "listed "+kind))
	}
	return "all rows of " + wording.Many(len(listed), kind)
}

// without returns the members of list that are not in some.
func without(list, some []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(some, s) })
}

// noticeOf returns the notice of a purge, without the list of students.
func noticeOf(ctx context.Context, catalog snapshot.Catalog, done *maintenance.PurgeReport) (*report.Notice, error) {
	proof := maintenance.PurgePath(done.ID)
	data, _, err := catalog.Read(ctx, proof)
	if err != nil {
		return nil, fmt.Errorf("read the proof: %w", err)
	}
	n := &report.Notice{
		Destination: absolute(catalog.String()), ToolVersion: done.ToolVersion, BegunAt: done.BegunAt, FinishedAt: done.FinishedAt,
		Schools: without(done.Asked.Schools, done.Unknown), Districts: without(done.Asked.Districts, done.Unknown), Unknown: done.Unknown,
		LedgerRows: done.LedgerRowsRemoved, DroppedRuns: done.DroppedRuns, NotReached: done.NotReached, Proof: proof, ProofSHA256: sink.Hash(data),
	}
	switch {
	case done.Asked.Students != nil:
		asked := done.Asked.Students
		n.Headline = foundText(done)
		n.ListedStudents = asked.Listed
		n.Digest = asked.Digest
		n.ByNumber = asked.ByNumber
		if len(done.OtherKeys) > 0 {
			n.NotSearched = otherKeysText(done.OtherKeys)
		}
		n.FoundByNumber = byNumberText(done.RowsByNumber, done.NumberStudents)
		if asked.Matched != nil {
			n.MatchedStudents = *asked.Matched
		}
	case done.Asked.EndedBefore != "":
		n.Headline = "all rows of the history that ended before " + done.Asked.EndedBefore
		n.HistoryOnly = true
	case done.Asked.EndedFor != "":
		n.Headline = "all rows of " + wording.Many(len(done.Asked.Schools), "school") + " denied or missing for at least " + done.Asked.EndedFor
	case len(done.Asked.Districts) > 0:
		n.Headline = headlineOf(n.Districts, done.Asked.Districts, "district") + ", with " + wording.Many(len(done.Schools), "school")
		n.Schools = done.Schools
	default:
		n.Headline = headlineOf(n.Schools, done.Asked.Schools, "school")
	}
	n.AddTables(done.RowsRemoved, func(t *report.NoticeTable) *int64 { return &t.Rows })
	n.AddTables(done.ExtraRemoved, func(t *report.NoticeTable) *int64 { return &t.Cleared })
	if done.History != nil {
		n.AddTables(done.History.RowsRemoved, func(t *report.NoticeTable) *int64 { return &t.HistoryRows })
		n.AddTables(done.History.ExtraRemoved, func(t *report.NoticeTable) *int64 { return &t.Cleared })
	}
	for i := range done.Runs {
		run := &done.Runs[i]
		line := report.NoticeRun{RunID: run.RunID, SnapshotDate: run.SnapshotDate, Kind: run.Kind, Files: run.FilesRewritten()}
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
