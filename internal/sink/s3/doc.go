// Package s3 is the destination on S3 and on S3-compatible stores. It provides a [sink.Store] whose staged files are
// multipart uploads, which are completed when the files are committed. No other package imports the AWS SDK.
//
// # How a file becomes visible
//
// A Draft is written to an unnamed file in the scratch folder, so that a killed process leaves nothing there. Stage
// starts a multipart upload and sends parts of equal size, at least 8 MiB, except that the last part may be smaller. It
// returns the upload's id and the ETag and checksum of every part. Commit completes the upload with one request. This
// needs neither a copy nor a temporary object that a reader could see.
//
// # Lost responses
//
// If a response is lost, the request may have been carried out. Every upload and document therefore has a random id in
// its metadata (growth-export-id), and the id of the object is checked after each completion, because some stores
// confirm a completion before it is done, or although the upload is gone. It is also checked when an upload has
// disappeared, and when the condition of a write does not hold, perhaps because an earlier attempt succeeded.
//
// # Locks
//
// Lock does not exclude other processes. Documents are instead written with the conditions If-None-Match and If-Match.
// If a store answers a conditional write with NotImplemented, this package checks the condition itself before it
// writes, and logs a warning. The user must then run only one publisher at a time.
//
// # Permissions
//
// The credentials need s3:ListBucket and s3:ListBucketMultipartUploads on the bucket, and s3:GetObject, s3:PutObject,
// s3:DeleteObject, s3:AbortMultipartUpload and s3:ListMultipartUploadParts below the prefix. Check tests the
// permissions that can be tested without leaving anything behind.
package s3
