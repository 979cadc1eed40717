// Package sink provides destinations as stores of files and documents. It does not interpret their contents.
//
// A file is staged, which makes it durable but keeps it invisible, and later committed, which makes it visible as a
// whole: on disk by a rename, on S3 by completing a multipart upload, on Google Cloud Storage by a copy that the
// service makes, on Azure by committing blocks. Any number of files can therefore be prepared and checked before the
// first of them is visible. Staged files have random names or upload ids, so that the record of one file is never valid
// for the file of a later attempt at the same path.
//
// A document is small and written in one step. A write can be made conditional on the document being absent or
// unchanged, and [Swap] retries a read-modify-write operation. Writing a document first makes every earlier change
// durable, so a document can safely state that files were committed.
//
// Locks are shared or exclusive, and are released when their process ends. A store with reliable conditional writes,
// such as S3, may not have locks.
//
// [Dir] is the store on a file system, packages sink/s3, sink/gcs and sink/azure are the stores in clouds, and
// sink/remote has the code that these share. The suite in storetest checks all stores against the same contract, which
// the comments of [Store] define.
package sink
