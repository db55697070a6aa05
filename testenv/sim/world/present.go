package world

import "context"

// Present returns the pods that are on a node, or on none where node is "", and have not ended, by UID, each with whether it is
// being deleted.
func (c *Cluster) Present(_ context.Context, node string) (map[string]bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list pods"); err != nil {
		return nil, err
	}
	present := make(map[string]bool)
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.NodeName == node && !pod.Terminal() {
			present[pod.UID] = pod.DeletedUnix != 0
		}
	}
	return present, nil
}
