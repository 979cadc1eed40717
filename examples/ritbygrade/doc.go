// Command ritbygrade reads the latest snapshot at a destination and prints the
// number of results and the mean RIT by subject and grade. It is the shortest
// honest reader: it takes its files from the manifest, never from a listing,
// so that it sees exactly one run whatever is being published meanwhile.
//
//	go run ./examples/ritbygrade ./growth-data
package main
