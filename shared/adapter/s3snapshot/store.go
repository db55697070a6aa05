package s3snapshot

import "github.com/aws/aws-sdk-go-v2/service/s3"

// Store is one bucket. It may be used from many goroutines.
type Store struct {
	*Snapshots
	Records
	ShadowRecords
}

// New returns the store in a bucket, which must exist.
func New(client *s3.Client, bucket string) *Store {
	b := &objects{client: client, bucket: bucket, memory: newMemoryBudget(0)}
	return &Store{Snapshots: &Snapshots{objects: b}, Records: Records{b}, ShadowRecords: ShadowRecords{b}}
}

// Within says how much memory the program has, in bytes; 0 = nobody bounds it. A snapshot that takes more than an
// eighth is refused, and those that are held take a quarter at most. It returns the store and must be called before it
// is used.
func (s *Store) Within(memory int64) *Store {
	s.Snapshots.memory = newMemoryBudget(memory)
	return s
}
