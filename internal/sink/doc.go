// Package sink provides destinations as stores of files and documents. It does not interpret their contents.
//
// A file is first staged, which makes it durable but keeps it invisible, and later committed, which makes it visible as
// a whole. A commit is a rename on disk, the completion of a multipart upload on S3, a copy within the service on
// Google Cloud Storage, and a commit of blocks on Azure. Any number of files can therefore be prepared and checked
// before the first of them is visible. Staged files have random names or upload ids, so that the record of one file is
// never valid for the file of a later attempt at the same path.
//
// A document is small and is written in one step. A write can be made conditional on the document being absent or
// unchanged, and [Swap] retries a read-modify-write operation. Writing a document first makes every earlier change
// durable, so a document can safely state that files were committed.
//
// Locks are shared or exclusive, and are released when their process ends. A store with reliable conditional writes,
// such as S3, may not have locks.
//
// [Dir] is the store on a file system. Packages sink/s3, sink/gcs and sink/azure are the stores in clouds, and
// sink/remote has the code that the cloud stores share. The test suite in storetest checks all stores against the
// contract that the comments of [Store] define.
package sink
