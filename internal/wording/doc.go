// Package wording writes counts, sizes and names as people read them, in the
// command's output and on the page of a run alike.
package wording
