// Command growthbygrade compares the test results in two snapshots at a destination and prints how much students grew
// between them, by subject and grade, and the share that met their projected growth. It reads the files listed in the
// manifests, never a directory listing, so it sees exactly the files of two runs, even while another run is being
// published.
//
//	go run ./examples/growthbygrade ./growth-data 2025-10-10 2026-02-12 norms.csv "Fall to Winter"
package main
