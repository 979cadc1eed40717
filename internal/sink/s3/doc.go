// Package s3 is the destination on S3 and on stores that speak its protocol: a
// [sink.Store] whose staged files are multipart uploads with their parts in
// place, completed when they are published. It is the only importer of the AWS
// SDK, and knows nothing of tables.
//
// # How a file becomes visible
//
// A Draft grows in a file of the scratch folder that has no name, so that a
// killed process leaves nothing there. Stage starts a multipart upload and puts
// the parts, equal ones of at least 8 MiB, a smaller file is one part; what it
// returns for the journal is the upload's id and every part's ETag and
// checksum. Commit completes the upload: one request, no copy, and nothing
// temporary that a reader could see.
//
// # Whose object is it
//
// An answer that is lost leaves it open whether the request was carried out. So
// every upload and every document carries an id of its own in its metadata
// (growth-export-id), and where it matters the object is looked at: after each
// completion, which some stores confirm while it is still under way or though
// the upload is long gone; when an upload has disappeared; and when a
// conditional write is refused, which may be because it had succeeded before.
//
// # Locks
//
// There are none. Documents are written with If-None-Match and If-Match, and
// Lock keeps nobody out. A store without conditional writes answers
// NotImplemented; then conditions are judged before writing, a word is logged,
// and one publisher at a time is the user's duty.
//
// # What a user needs to be allowed
//
// s3:ListBucket and s3:ListBucketMultipartUploads on the bucket, and
// s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and
// s3:ListMultipartUploadParts below the prefix. Check tries what can be tried
// without leaving anything.
package s3
