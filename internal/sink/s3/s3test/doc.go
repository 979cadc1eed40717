// Package s3test starts a real S3 server, versitygw, for tests. The server uses TLS, has users and bucket policies, and
// stores objects as plain files. A Proxy in front of it can inject faults or behave like another store. The Makefile
// builds the binary and passes its path in the environment variable VERSITYGW.
package s3test
