// Package s3test starts a real S3 server, versitygw, for tests: over TLS, with users and bucket policies, and with
// objects stored as plain files. A Proxy in front of it injects faults or behaves like another store. The Makefile
// builds the binary and passes its path in the environment variable VERSITYGW.
package s3test
