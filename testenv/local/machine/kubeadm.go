package machine

import (
	"context"
	"errors"
	"fmt"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"
)

// joinByKubeadm runs the user data of an instance of a cluster's own image, and has it join where that calls `kubeadm
// join`. The error is why it never joins.
func (m *instance) joinByKubeadm(ctx context.Context) error {
	scripts, err := shellParts(m.instance.UserData)
	if err != nil {
		return err
	}
	var j *joinConfiguration
	c := newComputer(m.instance, m.fleet.options.Parameter)
	c.programs["kubeadm"] = c.kubeadm(&j)
	switch err := c.execute(ctx, scripts); {
	case err != nil:
		return err
	case j == nil:
		return errors.New("user data has no script that calls kubeadm join")
	}
	m.nodeName = m.instance.PrivateDNSName // what hostname says
	if name := j.NodeRegistration.Name; name != "" {
		m.nodeName = name
	}
	got, err := j.join(ctx, m.nodeName)
	if err != nil {
		return fmt.Errorf("kubeadm join: %w", err)
	}
	if m.config, err = ownKubelet(m.nodeName, got.kubelet, j.flags()); err != nil {
		return err
	}
	if m.res, err = m.config.measure(m.instance, NodeConfig{}); err != nil {
		return err
	}
	m.config.version = m.fleet.options.Cluster.Version
	m.client, err = clientOf(got.config, "kubelet/"+m.config.version)
	return err
}

// ownKubelet is a kubelet with its own defaults, what all of its cluster have in common and its flags. The error is
// one at which it would not start. Source: kubelet, `pkg/kubelet/apis/config/v1beta1`.
func ownKubelet(node string, common []byte, flags []string) (kubelet, error) {
	k := kubelet{nodeName: node, labels: map[string]string{}, config: kubeletconfig.KubeletConfiguration{
		MaxPods: kubeletMaxPods,
		EvictionHard: map[string]string{
			"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
			"imagefs.available": "15%",
		},
	}}
	var patch map[string]any
	err := yaml.Unmarshal(common, &patch)
	if err != nil {
		return kubelet{}, fmt.Errorf("ConfigMap kubelet-config: %w", err)
	}
	if k.config, err = mergeKubeletConfig(k.config, patch); err != nil {
		return kubelet{}, fmt.Errorf("ConfigMap kubelet-config: %w", err)
	}
	if err := k.applyFlags(flags); err != nil {
		return kubelet{}, fmt.Errorf("kubelet flags: %w", err)
	}
	return k, k.validate()
}
