// Package s3test starts a real S3 server, versitygw, for tests: over TLS, with
// users and bucket policies, its objects as plain files. It also stands faults
// between a client and the server. The binary is built by the Makefile, which
// names it in the environment variable VERSITYGW.
package s3test
