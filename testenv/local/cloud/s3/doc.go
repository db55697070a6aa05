// Package s3 is the model of Amazon S3 as far as snapshots need it: buckets,
// whole objects with conditional writes and reads, checksums, ranges, listing,
// bulk deletion and expiry by lifecycle rules. It decides what is stored and
// whether a condition holds; it keeps one version of each object and has no
// multipart uploads, copies, tags, access lists or events. What it does not
// have it refuses with NotImplemented.
//
//	m := s3.NewModel(s3.Options{Clock: clock.System(), Account: "123456789012", Region: "us-west-2"})
//	m.CreateBucket("snapshots")
//	http.ListenAndServe(addr, s3.NewHandler(m)) // aws --endpoint-url http://… s3 ls s3://snapshots
package s3
