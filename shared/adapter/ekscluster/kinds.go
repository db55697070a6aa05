package ekscluster

// listers reads every kind that decisions look at, except pods.
func (c Reader) listers() []lister {
	core := c.core.CoreV1()
	out := []lister{
		c.nodes(),
		of(core.Namespaces()),
		of(c.core.AppsV1().DaemonSets("")),
		of(c.core.PolicyV1().PodDisruptionBudgets("")),
		of(core.PersistentVolumeClaims("")),
		of(core.PersistentVolumes()),
		of(c.core.StorageV1().StorageClasses()),
		of(c.core.StorageV1().CSINodes()),
	}
	if len(c.spread) > 0 {
		out = append(out,
			of(core.Services("")),
			of(core.ReplicationControllers("")),
			of(c.core.AppsV1().ReplicaSets("")),
			of(c.core.AppsV1().StatefulSets("")),
		)
	}
	for _, resource := range customResources {
		out = append(out, c.customLister(resource))
	}
	return out
}
