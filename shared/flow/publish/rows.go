package publish

import "github.com/joiner-sh/joiner/shared/model"

// Rows are copies of what is known of some kinds, in no order. What rows point to is written to by nobody.
type Rows struct {
	Shapes []model.PodShape // that pods refer to
	Pods   []model.Pod
	Nodes  []model.Node
	Pools  []model.Pool
}

// Rows returns what the cluster looks like now. Taking in changes waits for no more than the copying.
func (f *Publisher) Rows() Rows {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Rows{Shapes: f.state.shapes.From(0), Pods: f.state.pods.copied(), Nodes: f.state.nodes.copied(), Pools: f.state.pools.copied()}
}
