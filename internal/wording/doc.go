// Package wording formats counts, sizes, names, settings and commands the same way in output, logs and reports.
package wording
