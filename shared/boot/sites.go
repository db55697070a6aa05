package boot

import "sync"

// Sites keeps what was opened for each cluster for the next invocation: connections, and whatever knows its own age. The
// zero value is empty.
type Sites[T any] struct {
	mutex sync.Mutex
	kept  map[string]site[T] // by cluster
}

// site is what was opened and what it was opened with.
type site[T any] struct {
	identity string
	value    T
}

// Open returns what is kept for the cluster. Another identity, which stands for everything it is opened with, has it
// opened anew; an error keeps what was there.
func (s *Sites[T]) Open(cluster, identity string, open func() (T, error)) (T, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known, ok := s.kept[cluster]; ok && known.identity == identity {
		return known.value, nil
	}
	value, err := open()
	if err != nil {
		return value, err
	}
	if s.kept == nil {
		s.kept = map[string]site[T]{}
	}
	s.kept[cluster] = site[T]{identity, value}
	return value, nil
}
