// Package wording formats counts, sizes and names, and words the advice on held runs, the same way in output, logs and
// reports.
package wording
