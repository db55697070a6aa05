package boot

import "sync"

// ClientCache keeps what was opened for each cluster for the next invocation: connections, and whatever knows its own age. The
// zero value is empty.
type ClientCache[T any] struct {
	mutex sync.Mutex
	kept  map[string]cachedClients[T] // by cluster
}

// cachedClients is what was opened and what it was opened with.
type cachedClients[T any] struct {
	identity string
	value    T
}

// Open returns what is kept for the cluster. Another identity, which stands for everything it is opened with, has it
// opened anew; an error keeps what was there.
func (s *ClientCache[T]) Open(cluster, identity string, open func() (T, error)) (T, error) {
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
		s.kept = map[string]cachedClients[T]{}
	}
	s.kept[cluster] = cachedClients[T]{identity, value}
	return value, nil
}
