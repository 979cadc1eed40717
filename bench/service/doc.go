// Package service serves a world of pages over HTTP as the service's API does: a token, the list of schools, and pages
// of test results, from files or made up for each request, with or without gzip and latency.
package service
