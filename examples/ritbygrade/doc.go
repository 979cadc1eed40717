// Command ritbygrade reads the latest snapshot at a destination and prints the number of results and the mean RIT by
// subject and grade. It reads the files listed in the manifest, never a directory listing, so it sees exactly one run
// even while another is being published.
//
//	go run ./examples/ritbygrade ./growth-data
package main
