package world

import "context"

// Unbound returns the UIDs of pods that are on no node, have not ended and are not being deleted, in the order of their
// names.
func (c *Cluster) Unbound(context.Context) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list pods"); err != nil {
		return nil, err
	}
	uids := []string{}
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.NodeName == "" && !pod.Terminal() && pod.DeletedUnix == 0 {
			uids = append(uids, pod.UID)
		}
	}
	return uids, nil
}
