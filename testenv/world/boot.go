package world

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/cloud/catalog"
)

// boot lets machines join whose time has come, and makes nodes ready that joined long enough ago.
func (w *World) boot() {
	now := w.Clock.Now()
	w.Fleet.mu.Lock()
	var due []*Machine
	for _, m := range w.Fleet.machines {
		if !m.Joined && !m.Terminated && now.Sub(m.LaunchedAt) >= w.options.Boot {
			m.Joined, m.State = true, "running"
			due = append(due, m)
		}
	}
	w.Fleet.mu.Unlock()
	for _, m := range due {
		w.join(m)
	}
	w.Cluster.becomeReady(w.options.Ready)
}

// join makes the node a kubelet and the cloud provider would make.
func (w *World) join(m *Machine) {
	t, _ := catalog.Lookup(m.Type)
	name := strings.Replace(m.ID, "i-", "ip-", 1) + ".world.internal"
	labels := map[string]string{
		model.LabelHostname: name, model.LabelInstanceType: m.Type, model.LabelZone: m.Zone, model.LabelRegion: catalog.Region,
		model.LabelArch: goArch(t.Architecture), model.LabelOS: "linux",
	}
	ordered, taints := nodeConfig(m.UserData)
	allocatable := w.allocatable(m.Type)
	w.Cluster.PutNode(model.Node{
		Name: name, ProviderID: "aws:///" + m.Zone + "/" + m.ID, Labels: union(labels, ordered), Capacity: allocatable, Allocatable: allocatable,
		Taints: append(taints, model.Taint{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}),
	})
}

// becomeReady makes the nodes ready that were created after or longer ago.
func (c *Cluster) becomeReady(after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, before := range c.nodes {
		if before.Ready || before.DeletedUnix != 0 || c.now().Unix()-before.CreatedUnix < int64(after.Seconds()) {
			continue
		}
		node := clone(*before)
		node.Ready, node.ReadyUnix = true, c.now().Unix()
		node.Taints = slices.DeleteFunc(node.Taints, func(t model.Taint) bool { return t.Key == "node.kubernetes.io/not-ready" })
		c.nodes[name] = &node
	}
}

// allocatable is what a machine of the type has for pods: the estimate itself, so that every plan that is right is tight.
func (w *World) allocatable(name string) model.Resources {
	for _, machine := range w.Catalog.machines {
		if machine.Name == name {
			t := offer.Catalog([]model.MachineType{machine}, Class("any"), offer.Settings{Region: catalog.Region})
			return t[0].Allocatable()
		}
	}
	return nil
}

// nodeConfig reads the labels and taints a machine's user data tells its kubelet to register with; nothing where it is
// not the document of an AL2023 machine.
func nodeConfig(userData []byte) (labels map[string]string, taints []model.Taint) {
	message, err := mail.ReadMessage(bytes.NewReader(userData))
	if err != nil {
		return nil, nil
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, nil
	}
	var config struct {
		Spec struct {
			Kubelet struct {
				Config struct {
					RegisterWithTaints []model.Taint `json:"registerWithTaints"`
				} `json:"config"`
				Flags []string `json:"flags"`
			} `json:"kubelet"`
		} `json:"spec"`
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		if body, err := io.ReadAll(part); err == nil && strings.HasPrefix(part.Header.Get("Content-Type"), "application/node.eks.aws") {
			_ = json.Unmarshal(body, &config) // a document that is no JSON says nothing to this machine
		}
	}
	labels = map[string]string{}
	for _, flag := range config.Spec.Kubelet.Flags {
		list, _ := strings.CutPrefix(flag, "--node-labels=")
		for _, pair := range strings.Split(list, ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				labels[key] = value
			}
		}
	}
	return labels, config.Spec.Kubelet.Config.RegisterWithTaints
}

func goArch(arch string) string {
	if arch == catalog.ARM64 {
		return "arm64"
	}
	return "amd64"
}
