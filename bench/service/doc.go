// Package service serves a world of pages over HTTP in the same way as the API of the assessment service: a token, the
// list of schools, and pages of test results. The pages come from files or are generated for each request, with or
// without gzip and latency.
package service
