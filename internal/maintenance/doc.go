// Package maintenance looks after what is published at a destination: Verify reads it again, Purge removes the rows of
// schools or districts and proves it, Prune removes whole snapshots, Clean removes what dead runs have left. Whatever
// changes a published run is a snapshot.Change; nothing here writes manifests or pointers itself.
//
// A purge rewrites the files that hold such rows, run by run, and ends by reading every file again. What it has done
// stays in the manifests, which no longer count what the ledger does, and in its proof, _purges/<id>.json.
package maintenance
