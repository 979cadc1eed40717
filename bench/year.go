package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// stillValid is the date in the name of the folder of the open versions.
const stillValid = "9999-12-31"

// endedNights holds sums over nights on which versions of a history ended: the number of nights, the results that
// ended, and the size of the nights' files.
type endedNights struct {
	nights         int
	results, bytes int64
}

func (e *endedNights) add(one endedNights) {
	e.nights += one.nights
	e.results += one.results
	e.bytes += one.bytes
}

// writeYear writes a summary of how much the nights added to the history of a destination. snapshot is the size of one
// snapshot in bytes.
func writeYear(b *strings.Builder, dest string, snapshot int64) error {
	byDay, err := readEndedNights(dest)
	if err != nil {
		return err
	}
	standing := byDay[stillValid]
	delete(byDay, stillValid)
	var all, busy, quiet endedNights
	for _, night := range byDay {
		all.add(night)
		if 200*night.results >= standing.results {
			busy.add(night)
		} else {
			quiet.add(night)
		}
	}
	fmt.Fprintf(b, "On these nights %d results end, %.1f times as many as are open at the end. The open versions take %.2f snapshots and the "+
		"ended ones %.2f.\n\n| results that end in a night | nights | results a night | kB a night |\n|---|---|---|---|\n",
		all.results, float64(all.results)/float64(standing.results), float64(standing.bytes)/float64(snapshot),
		float64(all.bytes)/float64(snapshot))
	for _, kind := range []struct {
		title string
		endedNights
	}{{"half a percent or more", busy}, {"fewer", quiet}} {
		if n := int64(kind.nights); n > 0 {
			fmt.Fprintf(b, "| %s | %d | %d | %.0f |\n", kind.title, n, kind.results/n, float64(kind.bytes)/float64(n)/1000)
		}
	}
	b.WriteString("\n")
	return nil
}

// readEndedNights returns, for each day, the results that ended and the size of the day's files in all tables. The
// entry for stillValid is about the open results.
func readEndedNights(dest string) (map[string]endedNights, error) {
	var history struct {
		Tables map[string]struct {
			Files []struct {
				Path  string `json:"path"`
				Rows  int64  `json:"rows"`
				Bytes int64  `json:"bytes"`
			} `json:"files"`
		} `json:"tables"`
	}
	if err := readManifest(dest, filepath.Join(dest, "_history.json"), &history); err != nil {
		return nil, err
	}
	byDay := make(map[string]endedNights)
	for name, table := range history.Tables {
		for _, file := range table.Files {
			_, day, _ := strings.Cut(filepath.Base(filepath.Dir(file.Path)), "valid_to=")
			night := byDay[day]
			night.nights = 1
			night.bytes += file.Bytes
			if name == "test_results" {
				night.results += file.Rows
			}
			byDay[day] = night
		}
	}
	return byDay, nil
}
