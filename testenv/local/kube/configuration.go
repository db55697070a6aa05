package kube

import (
	"net"
	"os"
)

// writeConfiguration makes the keys, the kubeconfigs and the files that the
// components read, and the administrator's configuration.
func (c *ControlPlane) writeConfiguration(o Options) error {
	l := c.layout
	for _, dir := range []string{l.pki, l.logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	var err error
	if c.ca, err = newAuthority("joiner-kubernetes"); err != nil {
		return err
	}
	caKey, err := privateKeyPEM(c.ca.key)
	if err != nil {
		return err
	}
	public, private, err := signingKey()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		l.key("ca.crt"): c.ca.pem,
		l.key("ca.key"): caKey,
		l.key("sa.pub"): public,
		l.key("sa.key"): private,
	}
	if err := c.addServers(files); err != nil {
		return err
	}
	if err := c.addClients(files); err != nil {
		return err
	}
	if files[l.key("scheduler.yaml")], err = l.schedulerConfiguration(o.SchedulerConfig); err != nil {
		return err
	}
	if len(o.TokenWebhookConfig) > 0 {
		files[l.key("token-webhook.kubeconfig")] = o.TokenWebhookConfig
	}
	if len(o.AuditPolicy) > 0 {
		files[l.key("audit-policy.yaml")] = o.AuditPolicy
	}
	return writeFiles(files)
}

func (c *ControlPlane) addServers(files map[string][]byte) error {
	apiServerNames := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	for name, dnsNames := range map[string][]string{
		"apiserver": apiServerNames, "scheduler": nil, "controller-manager": nil,
	} {
		pair, err := c.ca.server(name, dnsNames, net.ParseIP(kubernetesServiceIP))
		if err != nil {
			return err
		}
		files[c.layout.key(name+".crt")], files[c.layout.key(name+".key")] = pair.cert, pair.key
	}
	return nil
}

// addClients gives each component the identity that the default RBAC roles
// are bound to.
func (c *ControlPlane) addClients(files map[string][]byte) error {
	var err error
	if c.admin, err = c.User("kubernetes-admin", "system:masters"); err != nil {
		return err
	}
	if files[c.layout.adminConfig()], err = Kubeconfig(c.admin); err != nil {
		return err
	}
	for file, user := range map[string]string{
		"scheduler.kubeconfig":          "system:kube-scheduler",
		"controller-manager.kubeconfig": "system:kube-controller-manager",
	} {
		config, err := c.User(user)
		if err != nil {
			return err
		}
		if files[c.layout.key(file)], err = Kubeconfig(config); err != nil {
			return err
		}
	}
	return nil
}
