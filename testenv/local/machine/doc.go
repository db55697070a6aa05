// Package instance turns launched instances into Nodes the way the real ones
// do: it reads the user data as the image would (Amazon Linux 2023's nodeadm,
// Amazon Linux 2's bootstrap.sh, Bottlerocket, Windows; an image of a cluster's
// own, named kubeadm-…, runs its scripts and joins by kubeadm), derives what the
// kubelet would report, registers the Node and renews its lease as that
// kubelet's user, and has kwok run its pods.
//
// It decides what an instance does once it has booted: whether it joins, with
// which labels, taints and resources, when it is ready, when its devices
// appear, and what happens to its Node when the instance is gone. When an
// instance boots and ends is told to it (Booted, Terminated); it knows nothing
// of EC2. What the values rest on is written in ASSUMPTIONS.md.
//
//	fleet, err := instance.Start(ctx, instance.Options{
//		Config:  plane.Config(),
//		Cluster: instance.Cluster{Name: "demo", Endpoint: plane.Endpoint(), CertificateAuthority: plane.CertificateAuthority()},
//		Kwok:    plane.Assets().Kwok,
//		OnEvent: func(e instance.Event) { log.Println(e) },
//	})
//	if err != nil {
//		return err
//	}
//	defer fleet.Stop()
//	fleet.Booted(instance.Instance{ID: "i-0123", Type: "m7g.large", …})
//
// Volumes are attached and detached by an Attacher beside the fleet, as slowly
// as it is told to.
//
// A pod's containers run for ever, start at once and obey SIGTERM at once,
// unless the pod says otherwise in its annotations (RunForAnnotation,
// StartAfterAnnotation, IgnoreTermAnnotation). Hooks that sleep before they are
// stopped do so. One of the image pause answers no readiness probe.
package machine
